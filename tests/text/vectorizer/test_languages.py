"""Languages are noticed by their grammatical words, and read as they should be."""
# ruff: noqa: E501

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.text import WordVectorizer
from cofactor.text.vectorizer import languages
from cofactor.text.vectorizer.languages import (
    CODES,
    ENGLISH,
    FEW_ENDINGS,
    detect_languages,
    grammatical_words,
)

SENTENCES = {
    "arabic": "لم يكن هذا هو الطريق الذي كنا نبحث عنه، ولكن لا يمكن أن نعود إلى البيت من غير الماء.",
    "bulgarian": "Това не е пътят, който търсехме, но не можем да се върнем у дома, защото тя е там.",
    "catalan": "Aquest no és el camí que volíem, però no podem tornar a casa sense els nens.",
    "chinese": "这不是我们要找的路，但是没有水我们不能回家。",
    "czech": "To není ta cesta, kterou jsme hledali, ale bez vody se nemůžeme vrátit, protože už je tma.",
    "danish": "Det er ikke den vej, som vi ledte efter, men hvor skal de ellers gå hen nu, uden os og jer?",
    "dutch": "Dit is niet de weg die wij zochten, maar we kunnen niet naar huis zonder water voor hen.",
    "english": "This is not the road that we were looking for, but we cannot go home without water.",
    "finnish": "Tämä ei ole se tie, jota me etsimme, mutta emme voi mennä kotiin ilman vettä, koska se on.",
    "french": "Ce n'est pas le chemin que nous cherchions, mais nous ne pouvons pas rentrer sans eau.",
    "german": "Das ist nicht der Weg, den wir gesucht haben, aber wir können nicht ohne Wasser nach Haus.",
    "greek": "Αυτός δεν είναι ο δρόμος που ψάχναμε, αλλά δεν μπορούμε να γυρίσουμε χωρίς νερό.",
    "hebrew": "זו לא הדרך שחיפשנו, אבל אנחנו לא יכולים לחזור הביתה בלי מים.",
    "hindi": "यह वह रास्ता नहीं है जिसे हम ढूँढ रहे थे, लेकिन हम पानी के बिना घर नहीं जा सकते।",
    "hungarian": "Ez nem az az út, amelyet kerestünk, de nem mehetünk haza víz nélkül, mert már este van.",
    "indonesian": "Mereka bilang bahwa kalau hujan kita bisa menunggu, karena enggak ada orang lain lagi.",
    "italian": "Questa non è la strada che cercavamo, ma non possiamo tornare a casa senza acqua per loro.",
    "japanese": "これは私たちが探していた道ではありませんが、水なしでは家に帰れません。",
    "korean": "이것은 우리가 찾던 길이 아니지만 물 없이는 집에 돌아갈 수 없습니다.",
    "norwegian": "Dette er ikke veien som vi lette etter, men vi kan ikke gå hjem uten vann til barna nå.",
    "persian": "این راهی نیست که ما به دنبال آن بودیم، اما ما نمی‌توانیم بدون آب به خانه برگردیم.",
    "polish": "To nie jest droga, której szukaliśmy, ale nie możemy wrócić do domu bez wody dla nich.",
    "portuguese": "Este não é o caminho que nós procurávamos, mas não podemos voltar para casa sem água.",
    "romanian": "Acesta nu este drumul pe care îl căutam, dar nu putem să ne întoarcem acasă fără apă.",
    "russian": "Это не та дорога, которую мы искали, но мы не можем вернуться домой без воды.",
    "spanish": "Este no es el camino que buscábamos, pero no podemos volver a casa sin agua para ellos.",
    "swedish": "Det här är inte vägen som vi letade efter, men vi kan inte gå hem utan vatten till dem.",
    "thai": "นี่ไม่ใช่ทางที่เรากำลังหา แต่เรากลับบ้านโดยไม่มีน้ำไม่ได้",
    "turkish": "Bu bizim aradığımız yol değil, ama su olmadan eve dönemeyiz, çünkü onlar için çok geç.",
    "ukrainian": "Це не та дорога, яку ми шукали, але ми не можемо повернутися додому без води для них.",
    "vietnamese": "Đây không phải là con đường mà chúng tôi tìm, nhưng chúng tôi không thể về nhà nếu không.",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_language_is_noticed(name):
    assert [found.language for found in detect_languages([SENTENCES[name]] * 3)] == [name]


def test_lists_hold_single_words_in_lower_case():
    assert len(CODES) >= 40
    for name in CODES:
        words = grammatical_words(name)
        assert len(words) >= 40, name
        assert all(word == word.lower() and " " not in word for word in words)
    assert grammatical_words("english") is ENGLISH


def test_texts_without_grammar_have_no_language():
    assert detect_languages([]) == []
    assert detect_languages(["", "123", "?!"]) == []
    assert detect_languages(["moon rocket orbit god sin", "puck goalie ice sin god"] * 40) == []
    vectorizer = WordVectorizer().fit(["moon rocket the orbit", "puck goalie ice"])
    assert (vectorizer.languages_, list(vectorizer.stop_words_)) == ([], ["english"])


def test_several_languages_are_noticed_by_their_share():
    mixed = [SENTENCES["german"]] * 6 + [SENTENCES["spanish"]] * 3 + [SENTENCES["chinese"]]
    found = detect_languages(mixed)
    assert [(one.language, one.share) for one in found] == [
        ("german", 0.6),
        ("spanish", 0.3),
        ("chinese", 0.1),
    ]
    few = [SENTENCES["german"]] * 99 + [SENTENCES["spanish"]]
    assert [one.language for one in detect_languages(few)] == ["german"]


def test_a_few_words_that_repeat_are_no_second_language():
    french = ["font editor", "unique chess cards", "stop motion studio", "possible moves"]
    french += ["different colours palette", "rare birds quiz"]
    english = ["it is the end of the game, and who else would have been there for us"]
    texts = [*english, SENTENCES["english"]] * 20 + french * 4
    assert [one.language for one in detect_languages(texts)] == ["english"]


def test_a_sample_is_spread_over_a_list_and_begins_a_stream(monkeypatch):
    monkeypatch.setattr(languages, "SAMPLE_TEXTS", 10)
    texts = [SENTENCES["german"]] * 50 + [SENTENCES["french"]] * 50
    assert len(detect_languages(texts)) == 2
    assert [one.language for one in detect_languages(iter(texts))] == ["german"]


def test_each_text_is_read_in_its_language():
    german = ["Die Katze war nicht in dem Haus und der Hund war auch da."] * 5
    english = ["It was the end of the war, and of those who would die of it."] * 5
    vectorizer = WordVectorizer(stem=None, min_df=1).fit(german + english)
    assert sorted(vectorizer.languages_) == ["english", "german"]
    assert vectorizer.words_.tolist() == ["die", "end", "haus", "hund", "katze", "war"]
    found = vectorizer.transform([german[0], english[0]]).toarray() > 0
    assert [vectorizer.words_[row].tolist() for row in found] == [
        ["haus", "hund", "katze"],
        ["die", "end", "war"],
    ]


def test_languages_by_name():
    text = ["Der Mond und die Sonne, the moon and the sun"]
    named = WordVectorizer(language="german", stem=None).fit(text)
    assert named.words_.tolist() == ["and", "mond", "moon", "sonne", "sun", "the"]
    both = WordVectorizer(language=["german", "english"], stem=None).fit(text)
    assert both.languages_ == ["german", "english"]
    none = WordVectorizer(language=None).fit(text)
    assert (none.stop_words_, none.stem_) == ({}, None)
    assert {"der", "und", "the"} <= set(none.words_)
    assert WordVectorizer(stop_words="german", language=None).fit(text).words_[0] == "and"
    assert WordVectorizer(stop_words=None, language="german").fit(text).stem_ == "language"
    with pytest.raises(ValueError, match="language='klingon' is not known; give 'auto', None, or"):
        WordVectorizer(language="klingon").fit(text)
    with pytest.raises(ValueError, match="stop_words='klingon' is not a language"):
        WordVectorizer(stop_words="klingon").fit(text)


def test_a_model_takes_a_language():
    texts = ["der Mond und die Rakete", "der Puck und das Tor"] * 3
    model = TopicModel(2, language="german", random_state=0).fit(texts)
    assert set(model.vectorizer_.words_) == {"mond", "rakete", "puck", "tor"}
    with pytest.raises(ValueError, match="language='german' is for the default vectorizer"):
        TopicModel(2, language="german", vectorizer=WordVectorizer()).fit(texts)


@pytest.mark.parametrize("name", ["german", "russian", "hindi", "arabic", "spanish", "french"])
def test_topic_words_are_not_grammatical(name):
    assert name not in FEW_ENDINGS
    subjects = ["a1 b1 c1", "a2 b2 c2", "a3 b3 c3"]
    grammar = SENTENCES[name].split()
    texts = [f"{subjects[i % 3]} {' '.join(grammar[i % 4 :: 2])}" for i in range(60)]
    model = TopicModel(3, random_state=0).fit(texts)
    assert model.vectorizer_.languages_ == [name]
    for topic in model.topics(3):
        assert not set(topic.words) & grammatical_words(name)


@pytest.mark.parametrize("name", ["chinese", "japanese", "korean", "thai"])
def test_scripts_without_spaces_give_topics(name):
    subjects = {
        "chinese": ("火箭飞向月球轨道", "医生在医院治疗疾病"),
        "japanese": ("ロケットは月の軌道へ飛ぶ", "医者は病院で病気を治療する"),
        "korean": ("로켓이 달의 궤도로 날아간다", "의사가 병원에서 질병을 치료한다"),
        "thai": ("จรวดบินสู่วงโคจรของดวงจันทร์", "แพทย์รักษาโรคในโรงพยาบาล"),
    }[name]
    labels = ["sky", "health"]
    texts = [subjects[i % 2] for i in range(20)] + [SENTENCES[name]]
    model = TopicModel(2, random_state=0).fit(texts, [labels[i % 2] for i in range(20)] + [""])
    assert model.vectorizer_.languages_ == [name]
    assert model.predict([subjects[0][:6], subjects[1][-8:]]).tolist() == labels
    assert min(len(topic.words) for topic in model.topics(5)) == 5


def test_korean_endings_are_grammatical():
    texts = [
        "날씨가 정말 좋습니다",
        "내일 비가 온다고 합니다",
        "주문한 상품이 도착했습니다",
        "감사합니다",
    ]
    words = set(WordVectorizer(language="korean").fit(texts).words_)
    assert {"날씨", "상품"} <= words
    assert not words & {"습니", "니다", "합니"}


def test_turkish_capitals_have_the_small_letter_of_turkish():
    vectorizer = WordVectorizer(language="turkish", stem=None).fit(["İstanbul güzel", "istanbul"])
    assert vectorizer.words_.tolist() == ["güzel", "istanbul"]
    older = WordVectorizer(language=None, stem=None).fit(["istanbul güzel"])
    older.words_ = np.array(
        ["güzel", "i\u0307stanbul"], dtype=object
    )  # as earlier versions wrote it
    assert older.transform(["İSTANBUL"]).nnz == 1
