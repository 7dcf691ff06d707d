"""Pages and pictures: self-contained HTML, SVG, and Graphviz."""
