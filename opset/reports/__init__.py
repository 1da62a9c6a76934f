"""Reports as pages to look at: one static file each, which loads nothing and runs nothing.

`frame` has the parts of a page and its style, `files` writes it, and each other module makes the page of a report:
`models` of verbs that read models, `verifications` of `opset verify`, `breaking` of `opset breaking`, `differences` of
`opset diff`. They are made of the report as JSON, which most pages hold whole.
"""
