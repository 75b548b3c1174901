"""Every format and encoding gives the same table; whatever is wrong is said with its place."""

import codecs
import csv
import gzip
import io
import json
import os
import socket
import threading
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofactor.io.tables import InputError, open_source, read_documents
from cofactor.io.tables.decoding import MAX_ROW_CHARACTERS, split_lines
from cofactor.io.tables.labels import label_columns, label_numbers, text_column

ROWS = [
    ["1", 'Der Käufer sagt, "nein"', "Verkauf"],
    ["2", "zwei\nZeilen; und \u2028 mehr", ""],
    ["3", "", "Einkauf"],
]
COLUMNS = ["id", "body", "team"]


def as_csv(separator=","):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows([COLUMNS, *ROWS])
    return text.getvalue()


def as_json_lines():
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def table(path, **options):
    source = open_source(path, **options)
    return source, [cells for _, cells in source.rows]


def parquet(path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", as_csv()),
        ("semicolons.csv", as_csv(";")),
        ("pipes.txt", as_csv("|")),
        ("a.tsv", as_csv("\t")),
        ("excel.csv", "sep=;\r\n" + as_csv(";")),
        ("a.jsonl", as_json_lines()),
        ("A.NDJSON", as_json_lines()),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_text_format_gives_the_same_rows(tmp_path, name, content, packed):
    path = tmp_path / (name + ".gz" if packed else name)
    data = content.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    source, rows = table(path)
    assert source.columns == COLUMNS
    assert rows == ROWS


def test_parquet_gives_the_same_rows(tmp_path):
    parquet(tmp_path / "a.parquet")
    source, rows = table(tmp_path / "a.parquet")
    assert (source.columns, rows) == (COLUMNS, ROWS)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="pip install pyarrow"):
        open_source(tmp_path / "a.parquet")


def test_a_folder_is_a_table_whose_sub_folders_are_labels(tmp_path):
    for name, text in {"b/two.txt": "zwei", "a/deep/one": "eins", "free.md": "frei"}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / ".hidden").write_text("no")
    source, rows = table(tmp_path)
    assert rows == [
        ["free.md", "frei", ""],
        ["a/deep/one", "eins", "a"],
        ["b/two.txt", "zwei", "b"],
    ]
    assert (text_column(source, None), label_columns(source, ())) == ("text", ("label",))


def test_links_out_of_a_folder_are_skipped_and_counted(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "a").mkdir(parents=True)
    (outside / "sub").mkdir(parents=True)
    (inside / "a" / "one.txt").write_text("eins")
    (outside / "secret.txt").write_text("secret")
    (outside / "sub" / "secret.txt").write_text("secret")
    (inside / "a" / "link.txt").symlink_to(outside / "secret.txt")
    (inside / "b").symlink_to(outside / "sub")
    (inside / "c").symlink_to("../outside")
    (inside / "again.txt").symlink_to("a/one.txt")
    (inside / "a" / "loop").symlink_to("..")
    (inside / "self").symlink_to("self")
    source, rows = table(inside)
    assert rows == [["again.txt", "eins", ""], ["a/one.txt", "eins", "a"]]
    (note,) = source.notes
    assert note.startswith(f"Skipped 3 links that lead out of {inside};")
    (tmp_path / "link").symlink_to(inside)  # the folder itself may be a link
    assert table(tmp_path / "link")[1] == rows


def test_without_such_links_there_is_no_note(tmp_path):
    (tmp_path / "one.txt").write_text("eins")
    os.mkfifo(tmp_path / "pipe.txt")
    source, rows = table(tmp_path)
    assert (source.notes, rows) == ([], [["one.txt", "eins", ""]])


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.jsonl", "pipe.parquet", "link.csv"])
def test_a_named_pipe_is_refused(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / name).symlink_to("pipe")
    with pytest.raises(InputError, match=f"{name} is not a plain file; name a file, or pass"):
        open_source(tmp_path / name)


def test_devices_and_sockets_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.csv")
        for path in ("socket.csv", "/dev/zero", "/dev/null"):
            with pytest.raises(InputError, match=f"{path} is not a plain file"):
                open_source(path)


ENCODINGS = {
    "ascii": "ascii",
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8",
    "utf-16": "utf-16-le",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
    "utf-32": "utf-32-le",
    "cp1252": "windows-1252",
}


@pytest.mark.parametrize(
    ("encoding", "found", "chunk"),
    [
        (encoding, found, chunk)
        for encoding, found in ENCODINGS.items()
        for chunk in (1, 2, 3, 7, 10**6)
        # Without a mark, UTF-16 is told by its first bytes together.
        if chunk > 3 or not encoding.startswith("utf-16-")
    ],
)
def test_encodings_are_found_and_reported(tmp_path, monkeypatch, encoding, found, chunk):
    text = "text\nplain first\nund\nZucker\n" + ("" if encoding == "ascii" else "süß “€”\n")
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(encoding))
    monkeypatch.setattr("cofactor.io.tables.decoding.CHUNK_BYTES", chunk)
    source, rows = table(path)
    assert [row[0] for row in rows] == text.splitlines()[1:]
    assert source.facts()["encoding"] == found


RUSSIAN = "Сегодня хорошая погода, и мы идём гулять в парк.\nЗавтра будет дождь.\n"
OLDER = {
    "koi8_r": RUSSIAN,
    "cp1251": RUSSIAN,
    "cp866": RUSSIAN,
    "cp1253": "Σήμερα ο καιρός είναι καλός και πάμε βόλτα στο πάρκο.\n",
    "cp1255": "היום מזג האוויר יפה ואנחנו הולכים לפארק.\n",
    "cp1256": "الطقس جميل اليوم لذلك سنذهب للتنزه في الحديقة.\n",
    "cp874": "วันนี้อากาศดีเราจึงไปเดินเล่นในสวนสาธารณะ\n",
    "cp932": "今日は天気がいいので、公園へ散歩に行きます。\n明日は雨が降るでしょう。\n",
    "euc_jp": "今日は天気がいいので、公園へ散歩に行きます。\n明日は雨が降るでしょう。\n",
    "gb18030": "今天天气很好,我们去公园散步。\n明天会下雨。\n",
    "big5": "今天天氣很好,我們去公園散步。\n明天會下雨。\n",
    "cp949": "오늘은 날씨가 좋아서 공원에 산책하러 갑니다.\n내일은 비가 올 것입니다.\n",
}


@pytest.mark.parametrize("encoding", OLDER)
@pytest.mark.parametrize("before", ["", "plain words\n" * 500])
def test_older_encodings_of_other_scripts_are_found(tmp_path, encoding, before):
    text = "text\tlabel\n" + (before + OLDER[encoding]).replace("\n", "\tspace\n")
    (tmp_path / "a.tsv").write_bytes(text.encode(encoding))
    source, rows = table(tmp_path / "a.tsv")
    assert [row[0] for row in rows] == (before + OLDER[encoding]).splitlines()
    assert source.facts()["encoding"] == encoding


@pytest.mark.parametrize(
    "text",
    [
        "El niño comió una piña en la montaña.\nMañana será otro día, señor.\n",
        "Vi åkte båten till ön på måndag för att äta räkor\nDet är fullt här\n",
        "Le café était délicieux, à bientôt\nOù est la clé ?\n",
        "résumé\ncafé\nnaïve\n",
        "Müller\n",
    ],
)
def test_western_texts_are_windows_1252(tmp_path, text):
    """charset-normalizer takes most of them for Polish or Hungarian."""
    (tmp_path / "a.tsv").write_bytes(f"text\n{text}".encode("cp1252"))
    source, rows = table(tmp_path / "a.tsv")
    assert [row[0] for row in rows] == text.splitlines()
    assert source.facts()["encoding"] == "windows-1252"


def test_a_named_encoding_is_used(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text\nПривет\n".encode("koi8-r"))
    assert table(path, encoding="koi8-r")[1] == [["Привет"]]
    path.write_bytes(codecs.BOM_UTF16_BE + "text\nПривет\n".encode("utf-16-be"))
    assert table(path, encoding="utf-16")[1] == [["Привет"]]
    with pytest.raises(InputError, match="encoding='klingon' is not known"):
        open_source(path, encoding="klingon")
    with pytest.raises(InputError, match="not known"):
        open_source(path, encoding="base64")


def test_only_line_feeds_end_lines():
    assert list(split_lines(["a\u2028b\x85c\n", "d\x0c\x1ce", "\r\n", "f"], "a.csv")) == [
        "a\u2028b\x85c\n",
        "d\x0c\x1ce\r\n",
        "f",
    ]
    assert list(split_lines(["a\rb\rc"], "a.csv")) == ["a\r", "b\r", "c"]


def test_an_old_macintosh_file_is_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"id,body\r1,one\r2,two\r")
    assert table(tmp_path / "a.csv")[1] == [["1", "one"], ["2", "two"]]


def test_quotes_may_be_part_of_the_text(tmp_path):
    (tmp_path / "a.tsv").write_text('id\tbody\n1\t"Hi" she said\n2\t"oh\n')
    rows = table(tmp_path / "a.tsv", no_quotes=True)[1]
    assert rows == [["1", '"Hi" she said'], ["2", '"oh']]
    with pytest.raises(InputError, match="use no_quotes=True"):
        table(tmp_path / "a.tsv")


def test_blank_lines_do_not_count(tmp_path):
    (tmp_path / "a.csv").write_text("\n\nid,body\n\n1,one\n\n2,two\n\n")
    assert table(tmp_path / "a.csv")[1] == [["1", "one"], ["2", "two"]]


def test_a_long_cell_is_no_problem(tmp_path):
    (tmp_path / "a.csv").write_text("body\n" + "word " * 100_000 + "\n")
    assert len(table(tmp_path / "a.csv")[1][0][0]) == 500_000


BAD = {
    "empty.csv": (b"", "is empty; it needs a header"),
    "blank.csv": (b" \n\n", "is empty; it needs a header"),
    "headless.csv": (b",,\n1,2,3\n", "empty header"),
    "mark.csv": (codecs.BOM_UTF8, "is empty"),
    "long.csv": (b"id,body\n1,a\n2,b,c\n", "row 3 has 3 cells, but the header has 2"),
    "short.csv": (b"id,body\n1,a\n2\n", "row 3 has 1 cell, but the header has 2; add"),
    "quote.csv": (b'id,body\n1,"a\n2,b\n', r"row 2: a quote that opens here is never closed"),
    "inner.csv": (b'id,body\n1,"a "b" c"\n', "row 2: a quote is inside a quoted cell; double"),
    "lines.csv": (b'id,body\n1,"a\n\nb"\n2\n', "row 3 has 1 cell"),
    "return.csv": (b"id,body\n1,a\rb\n", "row 2: a carriage return is alone"),
    "nul.csv": (b"id,body\n1,a\n2,b\0c\n", "line 3 holds a NUL byte"),
    "image.csv": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "NUL byte"),
    "bytes.csv": (b"id,body\n1,\xff\x81\n", "line 2 has a byte 0x81 that is neither"),
    "mixed.csv": ("id,body\n1,ü\n".encode() + b"2,\xfc\n", "line 3 has a byte 0xFC .* not utf-8"),
    "huge.csv": (
        b'body\n"' + b"a" * (MAX_ROW_CHARACTERS + 1),
        f"more than {MAX_ROW_CHARACTERS:,} characters",
    ),
    "a.csv.gz": (gzip.compress(b"body\n" + bytes(range(32, 127)) * 99)[:-30], "damaged gzip"),
    "no.csv.gz": (b"body\n", "damaged gzip"),
    "a.parquet": (b"PAR1 no", "cannot be read as Parquet"),
    "a.json": (b"[]", "holds an empty array; it needs objects"),
    "a.xlsx": (b"PK", "as CSV UTF-8"),
    "mixed-too.csv": (
        "t\ncafé\n".encode("cp1252") + "x\nnaïve\n".encode(),
        "line 4 is UTF-8, but a line before it is Windows-1252: the file mixes",
    ),
    "packed.csv": (b"PK\x03\x04\x14\0", "is a spreadsheet or another packed file; name it with"),
    "gzip.csv": (gzip.compress(b"body\nx\n"), "is a compressed file; add .gz to its name"),
    "a.docx": (b"PK", "use .csv, .tsv, .jsonl"),
    "a.parquet.gz": (b"", "unpack it first"),
    "empty.jsonl": (b"\n\n", "is empty; it needs one JSON object on each line"),
    "broken.jsonl": (b'{"a": 1}\n{"a": \n', "line 2 is not JSON"),
    "list.jsonl": (b"[1, 2]\n", "line 1 holds a list, not an object"),
    "deep.jsonl": (b'{"a":' * 10**5, "line 1 is not JSON"),
}


def test_a_named_encoding_is_not_doubted(tmp_path):
    content, _ = BAD["mixed-too.csv"]
    (tmp_path / "a.csv").write_bytes(content)
    source = open_source(tmp_path / "a.csv", encoding="windows-1252")
    assert [cells for _, cells in source.rows] == [["café"], ["x"], ["naÃ¯ve"]]


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_with_its_place(tmp_path, name):
    content, said = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said) as error:
        table(tmp_path / name)
    assert name in str(error.value)


def test_an_empty_folder_and_a_folder_with_a_picture(tmp_path):
    with pytest.raises(InputError, match="has no files"):
        open_source(tmp_path)
    (tmp_path / "cat.png").write_bytes(b"\x89PNG\r\n\0\0")
    with pytest.raises(InputError, match=r"cat\.png, line 2 holds a NUL byte"):
        table(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("bdy", "Did you mean 'body'"), ("BODY", "Did you mean 'body'"), ("xyz", "There are 'id',")],
)
def test_missing_columns_are_suggested(tmp_path, wanted, said):
    (tmp_path / "a.csv").write_text(as_csv(), newline="")
    with pytest.raises(InputError, match=said):
        text_column(open_source(tmp_path / "a.csv"), wanted)


@pytest.mark.parametrize("first", ["Export of May,,\n,,\n", ""])
def test_lines_above_the_header_are_suspected(tmp_path, first):
    (tmp_path / "a.csv").write_text(f"{first}id,body,team\n1,moon,x\n")
    source = open_source(tmp_path / "a.csv")
    for name in ("text", None):
        with pytest.raises(InputError) as caught:
            text_column(source, name)
        assert ("if lines stand above the header" in str(caught.value)) == bool(first)


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("body,body\na,b\n")
    with pytest.raises(InputError, match="names 2 columns"):
        text_column(open_source(tmp_path / "a.csv"), "body")


def test_without_a_name_the_only_column_is_the_text(tmp_path):
    (tmp_path / "a.csv").write_text("body\na\n")
    assert text_column(open_source(tmp_path / "a.csv"), None) == "body"
    (tmp_path / "a.csv").write_text("id,body\n1,a\n")
    with pytest.raises(InputError, match=r"text is missing.*'id', 'body'"):
        text_column(open_source(tmp_path / "a.csv"), None)


def test_labels_are_stripped_and_may_be_declared_unknown(tmp_path):
    (tmp_path / "a.csv").write_text("body,team\na, x \nb,NA\nc,\n")
    found = read_documents(open_source(tmp_path / "a.csv"), "body", "team", ["NA"])
    assert (found.texts, found.labels, found.rows) == (["a", "b", "c"], ["x", "", ""], [2, 3, 4])


def test_a_header_alone_has_no_documents(tmp_path):
    (tmp_path / "a.csv").write_text("body,team\n")
    with pytest.raises(InputError, match="no rows"):
        read_documents(open_source(tmp_path / "a.csv"), "body", None)


def test_json_values_become_text_and_late_columns_are_appended(tmp_path):
    lines = ['{"t": "a", "y": 1}', '{"t": null, "y": true}', '{"t": NaN}', '{"t": "\\ud800b"}']
    lines += ['{"t": "c"}'] * 1000 + ['{"t": "d", "new": [1]}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    source = open_source(tmp_path / "a.jsonl")
    assert source.columns == ["t", "y"]
    found = read_documents(source, "t", "y")
    assert found.texts[:4] == ["a", "", "", "?b"]
    assert found.labels[:3] == ["1", "True", ""]
    assert source.columns == ["t", "y", "new"]


def test_a_list_is_no_text(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"t": "a"}\n{"t": ["a", "b"]}\n')
    with pytest.raises(InputError, match="row 2: 't' holds a list"):
        read_documents(open_source(tmp_path / "a.jsonl"), "t", None)


def test_numbers_are_read_or_refused_with_their_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,y\na,1.5\nb,\nc,-2\n")
    found = read_documents(open_source(path), "t", "y")
    assert str(label_numbers(open_source(path), found)) == "[1.5, nan, -2.0]"
    for bad in ("many", "inf"):
        path.write_text(f"t,y\na,1.5\nb,{bad}\n")
        found = read_documents(open_source(path), "t", "y")
        with pytest.raises(InputError, match=f"row 3: the label '{bad}' is not a number"):
            label_numbers(open_source(path), found)


@pytest.mark.slow
def test_a_table_is_streamed():
    """Memory does not grow with the file, and a pipe, which can be read only once, will do."""
    reader, writer_end = os.pipe()
    path, row = f"/dev/fd/{reader}", b"1," + b"word " * 200 + b"\n"

    def write():
        with open(writer_end, "wb") as file:
            file.write(b"id,body\n")
            for _ in range(20):
                file.write(row * 1000)

    writer = threading.Thread(target=write)
    writer.start()
    tracemalloc.start()
    rows = sum(1 for _ in open_source(path).rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    writer.join()
    os.close(reader)
    assert rows == 20_000
    assert peak < 10 * 2**20


CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=6),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_csv_writes_is_read_back(tmp_path_factory, rows, separator, encoding, end):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([["id", "body"], *rows])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    assert table(path, encoding=None)[1] == [list(row) for row in rows]


@given(st.binary(max_size=200), st.sampled_from(["a.csv", "a.jsonl", "a.tsv", "a.csv.gz"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data, name):
    path = tmp_path_factory.mktemp("bytes") / name
    path.write_bytes(data)
    said = ""
    try:
        source, rows = table(path)
        assert all(len(cells) <= len(source.columns) for cells in rows)
    except InputError as error:
        said = str(error)
    assert not said or (name in said and said.isprintable())


def test_a_folder_of_parquet_files_is_not_read_as_texts(tmp_path):
    (tmp_path / "part.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"holds Parquet files.*\*\.parquet"):
        open_source(tmp_path)
