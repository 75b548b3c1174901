"""What becomes of a fitted topic model: a folder, a report."""

from __future__ import annotations


class Keeping:
    """The part of :class:`TopicModel` that writes files.

    What writes them lives above this package and is looked up by its public name.
    """

    def save(self, path, *, notes=None) -> None:
        """Write the model to a folder that :func:`cofactor.load_model` reads.

        Parameters
        ----------
        path : str or path
            The folder; a model that is there already is replaced, in one step.
        notes : dict, optional
            What should be kept with the model, in JSON; see :func:`cofactor.save`.
        """
        import cofactor

        cofactor.save(self, path, notes=notes)

    def report(self, path, documents=None, y=None, *, truth=None, text=True, **options):
        """Write a report: one HTML file that works offline. It needs ``cofactor[report]``.

        Parameters
        ----------
        path : str or path
            The file.
        documents : iterable of str, optional
            Documents to show and to test with, such as those of the fit; a model keeps none.
        y : array-like, optional
            Their labels, as for ``fit``.
        truth : array-like, optional
            Labels that the fit did not see, to test with.
        text : bool, default=True
            False leaves the documents' text out.
        **options
            ``title``, ``source`` and ``rows``, see :func:`cofactor.write_report`.

        Returns
        -------
        Path
            The file.
        """
        import cofactor

        return cofactor.write_report(self, path, documents, y, truth=truth, text=text, **options)
