"""Strings that would like to be more than text."""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from cofactor import TopicModel

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<body onload=alert(1)>",
    "<b>bold</b>",
    "<a href='javascript:alert(1)'>here</a>",
    "</title><h1>title</h1>",
    "</style><style>*{display:none}</style>",
    "--></style><!--",
    "<!--",
    "-->",
    "<!-- <script>",
    "]]>",
    "<![CDATA[x]]>",
    "</textarea><marquee>",
    "</article></section></main>",
    "<template><p>in</p></template>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<base href=http://evil.example/>",
    "<form action=http://evil.example><input></form>",
    "<object data=http://evil.example></object>",
    "<math><mtext><img src=x></mtext></math>",
    "<details open ontoggle=alert(1)>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    '"><img src=x>',
    "'><img src=x>",
    "` onmouseover=alert(1) `",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "http://evil.example/pixel.png",
    "url(http://evil.example/x)",
    "@import 'http://evil.example/x.css';",
    "{{7*7}}",
    "{% for x in y %}",
    "{{ ''.__class__.__mro__ }}",
    "${7*7}",
    "=cmd|'/C calc'!A0",
    '=HYPERLINK("http://evil.example")',
    "line\u2028separator\u2029paragraph",
    "nul\x00byte \x1b[31m \x07",
    "\ud800 half a pair",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x&#62;",
    "\\u003cscript\\u003e \\x3c/script\\x3e",
    "__proto__",
    "constructor",
    "../../etc/passwd",
    "\u202eright to left",
    "\u2066isolated\u2069 \u200bhidden",
    "\x1b]0;title\x07 \x1b[2J",
    "\x9b31m \x85 \x7f \x08",
    "over\rwritten",
    "-1+1",
    "@SUM(A1)",
]


def hostile_model(vocabulary):
    """A model whose words and classes are hostile, and its documents."""
    classes = [f"{HOSTILE[i]} {i}" for i in range(4)]
    texts = [
        "\n".join([*(vocabulary[(i + j) % len(vocabulary)] for j in range(9)), f"word{i % 4}"])
        for i in range(80)
    ]
    labels = np.array([classes[i % 4] if i % 3 else "" for i in range(80)], dtype=object)
    vectorizer = TfidfVectorizer(token_pattern="[^\n]+", lowercase=False)  # a word a line
    model = TopicModel(4, vectorizer=vectorizer, random_state=0)
    return model.fit(texts, labels), texts, labels
