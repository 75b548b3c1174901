"""A report in a notebook: the whole page, in a frame that reaches nothing else."""

from html.parser import HTMLParser

import pytest

from hostile import HOSTILE, hostile_model


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.mark.slow
def test_the_frame_holds_the_page_and_nothing_of_it_gets_out(tmp_path):
    model, texts, labels = hostile_model(HOSTILE)
    shown = model.show(texts, labels, title="</iframe>\"'><script>alert(1)</script>", height=500)
    (tag, attributes), *others = Tags(shown._repr_html_()).found
    assert others == []
    assert tag == "iframe"
    assert attributes["srcdoc"] == shown.page
    assert attributes["sandbox"].split() == ["allow-scripts", "allow-downloads"]
    assert "height: 500px" in attributes["style"]
    assert "Content-Security-Policy" in shown.page
    assert shown.save(tmp_path / "report.html").read_bytes() == shown.page.encode(
        "utf-8", "replace"
    )


def test_outside_of_notebooks_it_says_where_to_look(model):
    said = repr(model.show())
    assert "\n" not in said
    assert "save('report.html')" in said
    with pytest.raises(ValueError, match="height='tall' must be a positive whole number"):
        model.show(height="tall")
