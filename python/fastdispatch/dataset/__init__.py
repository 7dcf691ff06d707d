"""A run of many ranks as a folder of Parquet files, and SQL on it (docs/formats/columns.md). Needs DuckDB."""
