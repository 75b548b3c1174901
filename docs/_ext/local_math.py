"""Formulas become MathML when the site is built, so that no page loads a script for them."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def write_inline(writer, node):
    writer.body.append(tex2mathml(node.astext()))
    raise SkipNode


def write_block(writer, node):
    writer.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>\n')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
