"""Stop words of our own: words of grammar, not of content."""

_ENGLISH = """
a an the
this that these those such same other another each every either neither both all any some no none
few many more most much several own
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
who whom whose which what where when why how
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought
you're he's she's it's we're they're you've we've they've you'd he'd she'd we'd they'd
ve ll you'll he'll she'll it'll we'll they'll that's there's here's what's who's let's
isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't
mustn't shouldn't won't wouldn't ain't
about above across after against along among around as at before behind below beneath beside
between beyond by despite down during except for from in inside into near of off on onto out
outside over past per since through throughout till to toward towards under until up upon via with
within without
and but or nor so yet if then else than because while although though unless whether
not only too very just also even still again ever never here there now once
"""

ENGLISH = frozenset(_ENGLISH.split())
"""Articles, pronouns, auxiliaries, prepositions, conjunctions and a few adverbs, but no word that
could be the subject of a text. "ve" and "ll" are the rest of "I've" and "I'll", because words have
at least two letters."""

_HINDI = """
अगर यदि कभी बिना पास अक्सर ज़्यादा हालाँकि हालांकि क्योंकि इसलिए ताकि लेकिन मगर बल्कि तब जब जहाँ वहाँ
यहाँ कहाँ कब क्यों कैसे कैसा ऐसा ऐसी वैसे जैसा जैसी आपके आपको आपका आपकी हम हमारे हमारा हमारी हमें मुझे
मेरा मेरी मेरे तुम तुम्हें तुम्हारा उन्होंने इन्होंने जिसमें जिसका जिसके जिसकी जिससे जिन्हें जिनमें जिनका
जिनके गई गए जाता जाती जाते जाना जाने जाए वाला वाली वाले सकता सकती सकते चुका चुकी चुके रहा रही रहे हुआ
हुई हुए होता होती होते होने होगा होगी होंगे दिया देता लिया लेता करना करता करती करते आया आई आए चाहिए चाहता
चाहती चाहते बाद पहले साथ तक द्वारा बीच ओर लगभग भी ही तो अन्य
"""

MISSING = {"hindi": frozenset(_HINDI.split())}
"""Grammatical words that the list of a language lacks: in Hindi conjunctions, auxiliary verbs, and
pronouns with postpositions."""
