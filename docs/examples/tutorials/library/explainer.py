import texts


@texts.rules.dataclass
class Explainer:
    instruction: str
    style: str

    def __call__(self, topic):
        return texts.fill("{} ({}): {}", self.instruction, self.style, topic)


explainer = Explainer("Explain", "briefly")
print(explainer("dna"))
explain_all = texts.batch(Explainer.__call__, in_axes=(False, True))
print(explain_all(explainer, ["dna", "rna"]))
