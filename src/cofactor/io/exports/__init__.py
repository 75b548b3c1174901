"""Write models for other programs: spreadsheets, AnnData, topicwizard."""
