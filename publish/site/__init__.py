"""The pages that `traces explore` serves and `traces publish --site` writes."""
