import texts


class Note:
    def __init__(self, title, body):
        self.title, self.body = title, body


texts.rules.register_pytree_node(
    Note,
    lambda note: ((note.title, note.body), None, ("title", "body")),
    lambda aux_data, children: Note(*children),
)
note = texts.rules.tree_map(str.title, Note("on dna", "it is long"))
print(note.title, "|", note.body)
print([str(path) for path in texts.rules.tree_paths(note)])
