"""Files of a run: names, the manifest, inputs and outputs, on disk and on stores."""
