"""Models for other programs: spreadsheets, AnnData, topicwizard."""
