"""Labels in the files of other programs, in the forms that their documentation shows."""

import json

import pytest

from cofactor.io.annotations import (
    FORMATS,
    WRITTEN,
    Annotation,
    read_annotations,
    write_annotations,
)
from cofactor.io.errors import InputError

OPTIONS = [{"id": "SPORT", "text": "Sport"}, {"id": "FOOD", "text": "Food"}]


def task(text, results, **annotation):
    """A task of Label Studio with one annotation."""
    results = [
        {"from_name": "topic", "to_name": "txt", "id": "x1", "type": kind, "value": value}
        for kind, value in results
    ]
    done = {"id": 7, "completed_by": 3, "result": results, "was_cancelled": False} | annotation
    return {"id": 12, "data": {"text": text}, "annotations": [done], "predictions": []}


CHOICE = {"text": "A goal", "options": OPTIONS, "_input_hash": 1, "_task_hash": 2}
READ = {
    "choice": (CHOICE | {"accept": ["SPORT"], "answer": "accept"}, [("SPORT",)]),
    "several choices": (
        CHOICE | {"accept": ["SPORT", "FOOD"], "answer": "accept"},
        [("SPORT", "FOOD")],
    ),
    "numbered choices": (
        {
            "text": "A goal",
            "options": [{"id": 1, "text": "Sport"}],
            "accept": [1],
            "answer": "accept",
        },
        [("Sport",)],
    ),
    "no choice": (CHOICE | {"accept": [], "answer": "accept"}, [()]),
    "ignored": (CHOICE | {"accept": ["SPORT"], "answer": "ignore"}, [None]),
    "rejected": (CHOICE | {"accept": ["SPORT"], "answer": "reject"}, []),
    "binary": ({"text": "A goal", "label": "SPORT", "answer": "accept"}, [("SPORT",)]),
    "binary, with spans of patterns": (
        {"text": "A goal", "label": "SPORT", "answer": "accept", "spans": [{"start": 2, "end": 6}]},
        [("SPORT",)],
    ),
    "not this label": ({"text": "A goal", "label": "FOOD", "answer": "reject"}, []),
    "task": (task("A goal", [("choices", {"choices": ["sport"]})]), [("sport",)]),
    "task with several": (
        task("A goal", [("choices", {"choices": ["sport", "food"]})]),
        [("sport", "food")],
    ),
    "skipped task": (task("A goal", [], was_cancelled=True), [None]),
    "task with a rating": (
        task("A goal", [("rating", {"rating": 3}), ("choices", {"choices": ["sport"]})]),
        [("sport",)],
    ),
    "JSON-MIN": (
        {"id": 1, "text": "A goal", "topic": "sport", "annotator": 1, "annotation_id": 9},
        [("sport",)],
    ),
    "JSON-MIN with several": (
        {"id": 1, "text": "A goal", "topic": {"choices": ["a", "b"]}, "annotation_id": 9},
        [("a", "b")],
    ),
    "Argilla": (
        {
            "id": "r1",
            "fields": {"text": "A goal"},
            "metadata": {},
            "suggestions": {"label": {"value": "food", "score": 0.5, "agent": "m"}},
            "responses": {"label": [{"value": "sport", "user_id": "u1"}]},
            "status": "completed",
        },
        [("sport",)],
    ),
    "Argilla, no response": ({"fields": {"text": "A goal"}, "responses": {}}, []),
    "Argilla 1": (
        {
            "fields": {"text": "A goal"},
            "responses": [
                {
                    "user_id": "u1",
                    "status": "submitted",
                    "values": {"topic": {"value": ["a", "b"]}},
                },
                {"user_id": "u2", "status": "discarded", "values": {"topic": {"value": "a"}}},
            ],
        },
        [("a", "b"), None],
    ),
    "Argilla, flat": (
        {
            "text": "A goal",
            "label.responses": ["sport", "food"],
            "label.responses.users": ["u1", "u2"],
            "label.responses.status": ["submitted", "discarded"],
        },
        [("sport",), None],
    ),
    "dataset": ({"text": "A goal", "label": "sport"}, [("sport",)]),
    "dataset with numbers": ({"text": "A goal", "label": 3}, [("3",)]),
    "dataset with several": ({"text": "A goal", "labels": ["a", "b"]}, [("a", "b")]),
    "dataset, unlabelled": ({"text": "A goal", "label": None}, []),
    "categories": ({"text": "A goal", "cats": {"sport": 1.0, "food": 0.0}}, [("sport",)]),
    "no category": ({"text": "A goal", "cats": {"sport": False, "food": False}}, [()]),
    "pair": (["A goal", {"cats": {"sport": True, "food": False}}], [("sport",)]),
}


def written(path, records, in_lines):
    text = "\n".join(map(json.dumps, records)) if in_lines else json.dumps(records)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("in_lines", [True, False])
@pytest.mark.parametrize("case", READ)
def test_documented_forms(case, in_lines, tmp_path):
    record, labels = READ[case]
    if in_lines and isinstance(record, list):
        pytest.skip("pairs are in lists")
    found = read_annotations(written(tmp_path / "x", [record], in_lines))
    assert [one.labels for one in found] == labels
    assert {one.text for one in found} <= {"A goal"}


def test_people_and_ids(tmp_path):
    first = task("A goal", [("choices", {"choices": ["sport"]})])
    second = first["annotations"][0] | {"completed_by": {"id": 4, "email": "bo@example.org"}}
    first["annotations"].append(second)
    found = read_annotations(written(tmp_path / "x", [first], in_lines=False))
    assert [one.who for one in found] == ["3", "bo@example.org"]
    record = READ["choice"][0] | {"_annotator_id": "news-ada", "meta": {"id": 5}}
    (one,) = read_annotations(written(tmp_path / "y", [record], in_lines=True))
    assert (one.who, one.id) == ("news-ada", "5")


MIN = {"annotator": 1, "annotation_id": 9, "created_at": "2024-01-01", "lead_time": 2.5}


@pytest.mark.parametrize(
    ("records", "labels"),
    [
        # columns of the task stand before its id, results behind it
        ([{"text": "a", "source": "web", "id": 1, "topic": "sport"}], [("sport",)]),
        ([{"text": "a", "source": "web", "id": 1}], [()]),
        ([{"id": 1, "text": "a", "source": "web", "topic": {"choices": ["x", "y"]}}], [("x", "y")]),
        (
            [
                {"id": 1, "text": "a", "source": "web", "topic": {"choices": ["x", "y"]}},
                {"id": 2, "text": "b", "source": "web", "topic": "x"},
                {"id": 3, "text": "c", "source": "web"},  # nothing was chosen
            ],
            [("x", "y"), ("x",), ()],
        ),
        ([{"id": 1, "text": "a", "source": "web", "label": "sport"}], [("sport",)]),
        ([{"text": "a", "topic": "sport"}], [("sport",)]),
        ([{"id": 1, "text": "a", "label": "good", "parts": {"choices": ["x"]}}], [("good",)]),
    ],
)
def test_columns_of_tasks_are_not_labels(records, labels, tmp_path):
    path = written(tmp_path / "x", [one | MIN for one in records], in_lines=False)
    found = read_annotations(path)
    assert [one.labels for one in found] == labels
    assert {one.who for one in found} == {"1"}


def test_answers_about_single_labels_belong_together(tmp_path):
    lines = [
        {"text": "A goal", "label": label, "answer": answer}
        for label, answer in (("SPORT", "accept"), ("FOOD", "reject"), ("NEWS", "accept"))
    ]
    lines.append({"text": "Soup", "label": "FOOD", "answer": "accept"})
    found = read_annotations(written(tmp_path / "x", lines, in_lines=True))
    assert [(one.text, one.labels) for one in found] == [
        ("A goal", ("SPORT", "NEWS")),
        ("Soup", ("FOOD",)),
    ]


SPANS = {
    "Prodigy": {
        "text": "A goal",
        "spans": [{"start": 2, "end": 6, "label": "X"}],
        "answer": "accept",
    },
    "Label Studio": task("A goal", [("labels", {"start": 2, "end": 6, "labels": ["X"]})]),
    "JSON-MIN": {"text": "A goal", "x": [{"start": 2, "end": 6}], "annotation_id": 1},
    "Argilla": {
        "fields": {"text": "A goal"},
        "responses": {"span": [{"value": [{"start": 2, "end": 6, "label": "X"}], "user_id": "u"}]},
    },
    "spaCy": {"text": "A goal", "entities": [[2, 6, "X"]]},
    "image": task("A goal", [("rectanglelabels", {"x": 1, "rectanglelabels": ["X"]})]),
}


@pytest.mark.parametrize("case", SPANS)
def test_parts_of_texts_are_refused_in_one_sentence(case, tmp_path):
    path = written(tmp_path / "x.jsonl", [SPANS[case]], in_lines=True)
    with pytest.raises(InputError, match=r"line 1: .* only labels of whole texts can be used\.$"):
        read_annotations(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "record 1 is not a JSON object"),
        ('{"a": 1}', "none of the formats"),
        ('{"text": "a", "label": true}', "which is not a name"),
        ('{"text": "a", "cats": 3}', "not in the documented form"),
        ('{"text": "a", "answer": "accept"}', "not in the documented form"),
        ('{"title": "a", "body": "b", "label": "x"}', "no field text or text"),
        ('{"fields": {"text": "a"}, "responses": {"a": [], "b": []}}', "none is called label"),
        (
            '{"text": "a", "b": "c", "d": "e", "annotation_id": 1}',
            "b, d, of which one is the label",
        ),
    ],
)
def test_other_files_are_refused_in_one_sentence(content, said, tmp_path):
    (path := tmp_path / "x.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_annotations(path)


ROWS = [
    Annotation("A goal", ("sport",), "", "1"),
    Annotation("Soup\n“hot” 汤", ("food", "sport"), "", "2"),
    Annotation("?", (), "", "3"),
    Annotation("…", None, "", "4"),
]


@pytest.mark.parametrize("program", WRITTEN)
def test_what_is_written_is_read_back(program, tmp_path):
    (path := tmp_path / "x").write_bytes(
        write_annotations(ROWS, program, ["food", "sport"], several=True)
    )
    expected = ROWS if FORMATS[program].keeps_skipped else ROWS[:3]
    found = read_annotations(path)
    assert [(one.text, one.labels, one.id) for one in found] == [
        (one.text, one.labels, one.id) for one in expected
    ]


def test_label_studio_keeps_people_in_one_task(tmp_path):
    rows = [Annotation("A goal", ("a",), "Ada", "1"), Annotation("A goal", ("b",), "7", "1")]
    (found,) = json.loads(write_annotations(rows, "label-studio", ["a", "b"], several=False))
    chosen = [one["result"][0]["value"]["choices"] for one in found["annotations"]]
    assert chosen == [["a"], ["b"]]
    assert [one["completed_by"] for one in found["annotations"]] == [{"email": "Ada"}, 7]
    path = written(tmp_path / "x", [found], in_lines=False)
    assert [one.who for one in read_annotations(path)] == ["Ada", "7"]


def test_one_label_for_each_text_in_datasets():
    rows = [Annotation("A goal", ("sport",), "", "1"), Annotation("?", (), "", "2")]
    lines = write_annotations(rows, "huggingface", ["sport"], several=False).splitlines()
    assert [json.loads(line)["label"] for line in lines] == ["sport", None]
