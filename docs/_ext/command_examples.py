"""Examples in the help of commands become code; sphinx-click writes them as plain lines."""


def to_code(app, context, lines):
    """Turn indented lines of preformatted paragraphs, marked by a bar, into blocks of code."""
    new, in_code = [], False
    for line in lines:
        text = line.removeprefix("| ")
        is_code = text != line and text.startswith(" ")
        if is_code and not in_code:
            new += ["", ".. code-block:: shell", ""]
        new.append(f"   {text.strip()}" if is_code else text)
        in_code = is_code
    lines[:] = new


def setup(app):
    app.connect("sphinx-click-process-description", to_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
