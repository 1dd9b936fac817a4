"""Row images: layouts of table maps, and values straight into Arrow buffers."""
