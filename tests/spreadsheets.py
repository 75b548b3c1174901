"""Writes small .xlsx files part by part, so that tests can hold what no program would write."""

from xml.sax.saxutils import escape, quoteattr
from zipfile import ZipFile

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_STYLES = (
    f"<styleSheet {_MAIN}><fonts><font/></fonts><fills><fill/></fills><borders><border/></borders>"
    '<cellStyleXfs><xf/></cellStyleXfs><cellXfs><xf/><xf numFmtId="14" applyNumberFormat="1"/>'
    "</cellXfs></styleSheet>"
)


class Raw(str):
    """A cell written as XML: what stands between <c r="A1" and </c>."""


def day(number):
    """A cell that holds a date, as days since 1900."""
    return Raw(f' s="1"><v>{number}</v>')


def formula(text, value=None, attributes=""):
    saved = "" if value is None else f"<v>{escape(value)}</v>"
    return Raw(f"{attributes}><f>{escape(text)}</f>{saved}")


def write_spreadsheet(path, sheets, merged=(), hidden=()):
    """Write sheets, each a list of rows; None is no cell, and a row of None is left out."""
    with ZipFile(path, "w") as archive:
        kinds = "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="application/vnd.'
            'openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
            for i in range(1, len(sheets) + 1)
        )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
            f'ContentType="application/xml"/>{kinds}</Types>',
        )
        archive.writestr("_rels/.rels", _links({"rId1": ("officeDocument", "xl/workbook.xml")}))
        named = "".join(
            f"<sheet name={quoteattr(name)} sheetId='{i}' r:id='rId{i}'"
            f"{' state=' + quoteattr('hidden') if name in hidden else ''}/>"
            for i, name in enumerate(sheets, start=1)
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>',
        )
        links = {
            f"rId{i}": ("worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(sheets) + 1)
        }
        links["rIdStyles"] = ("styles", "styles.xml")
        archive.writestr("xl/_rels/workbook.xml.rels", _links(links))
        archive.writestr("xl/styles.xml", _STYLES)
        for i, rows in enumerate(sheets.values(), start=1):
            archive.writestr(f"xl/worksheets/sheet{i}.xml", _sheet(rows, merged))
    return path


def _links(targets):
    links = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'


def _sheet(rows, merged):
    body = ""
    for number, cells in enumerate(rows, start=1):
        written = (_cell(f"{chr(65 + c)}{number}", one) for c, one in enumerate(cells or []))
        body += f'<row r="{number}">{"".join(written)}</row>'
    together = "".join(f'<mergeCell ref="{one}"/>' for one in merged)
    together = f"<mergeCells>{together}</mergeCells>" if merged else ""
    return f"<worksheet {_MAIN}><sheetData>{body}</sheetData>{together}</worksheet>"


def _cell(name, value):
    if value is None:
        return ""
    if isinstance(value, Raw):
        return f'<c r="{name}"{value}</c>'
    if isinstance(value, str):
        return f'<c r="{name}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{name}"><v>{value}</v></c>'
