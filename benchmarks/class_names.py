"""Classes by their names: how well a model predicts without a single label.

    python -m benchmarks.class_names [--data FOLDER] [--encoder wordllama] [--only NAME]

The names, and one sentence about each class, were written before any result was seen and were not
changed afterwards. The labels only score the result.
"""

NEWSGROUPS = {
    "computer": "Computers: hardware, software, graphics, Windows and operating systems.",
    "sports": "Recreation: sports such as baseball and hockey, and cars and motorcycles.",
    "science": "Science: space, medicine, electronics and cryptography.",
    "politics": "Politics: government, law, guns and the Middle East.",
    "religion": "Religion: God, the Bible, Christianity, atheism and the church.",
}
"""Groups of 20 Newsgroups without misc.forsale; sci.electronics and sci.crypt are science, and rec.*
is sports, as in the published tests."""
SNIPPETS = {
    "business": "Business: companies, markets, trade, finance and jobs.",
    "computers": "Computers: software, programming, hardware and the internet.",
    "entertainment": "Culture, arts and entertainment: music, movies, literature and art.",
    "education": "Education and science: schools, universities, research and theory.",
    "engineering": "Engineering: machines, engines, electrical and mechanical technology.",
    "health": "Health: medicine, diseases, hospitals, drugs and nutrition.",
    "politics": "Politics and society: government, parties, elections and culture.",
    "sports": "Sports: games, football, tennis, teams and tournaments.",
}
R8 = {
    "earnings": "Earnings: profits, losses and dividends that a company reports for a quarter.",
    "acquisitions": "Acquisitions: a company buys or merges with another, and shares are sold.",
    "crude oil": "Crude oil: barrels, prices, production and OPEC.",
    "trade": "Trade: exports, imports, tariffs, deficits and agreements between countries.",
    "currency": "Currencies: foreign exchange, the dollar, the yen and the money market.",
    "interest": "Interest: rates of banks, the prime rate and the discount rate.",
    "shipping": "Shipping: ships, ports, cargo, tankers and seamen.",
    "grain": "Grain: wheat, corn, crops, harvest and agriculture.",
}
