"""Paragraphs written by hand, with questions and accepted answers: no model of ours was trained on them.

`WORKED` is the paragraph of lesson 08; we looked at its answers while we made the training data.
`UNSEEN` was written before training and only used to measure.
"""

from typing import Final, NamedTuple


class Passage(NamedTuple):
    """A paragraph, and questions with the answers that count as right."""

    paragraph: str
    questions: dict[str, tuple[str, ...]]


WORKED: Final = Passage(
    "The lighthouse on the northern cape was built in 1871 by the engineer Ada Holm. "
    "Its lamp burned whale oil until electric light came in 1922. "
    "For sixty years the keeper's family lived in the small stone house below the tower, and kept goats. "
    "Since 1984 the light has been switched on by a computer in the harbour, twelve kilometres away. "
    "Today the house is a museum, which is open from May to September and closed on Mondays.",
    {
        "Who built the lighthouse?": ("Ada Holm", "the engineer Ada Holm"),
        "What did the lamp burn before there was electric light?": ("whale oil",),
        "Where did the family of the keeper live?": (
            "the small stone house", "the small stone house below the tower",
        ),
        "What switches the light on today?": ("a computer", "a computer in the harbour"),
        "When is the museum open?": ("from May to September", "May to September"),
    },
)  # fmt: skip
UNSEEN: Final = (
    Passage(
        "Rosa Lindqvist opened her bakery in a former fire station in 1996. She bakes rye bread with "
        "caraway, and sells out before noon on most days. Her son Jonas delivers the loaves on a cargo "
        "bicycle. Flour comes from a water mill eight miles up the valley. In 2011 a fire destroyed the "
        "oven, and neighbours lent her the money for a new one.",
        {
            "Who opened the bakery?": ("Rosa Lindqvist",),
            "When did Rosa Lindqvist open her bakery?": ("1996",),
            "Who delivers the loaves?": ("Jonas", "her son Jonas"),
            "Where does the flour come from?": ("a water mill", "a water mill eight miles up the valley"),
            "What destroyed the oven?": ("a fire",),
            "Who lent her the money?": ("neighbours",),
        },
    ),
    Passage(
        "The Marston Canal runs for forty miles from the coal fields to the sea. Irish labourers dug it "
        "between 1790 and 1797, and were paid in beer as often as in coins. Horses pulled the barges until "
        "1884, when steam tugs replaced them. The last cargo, a load of roof tiles, was carried in 1962. "
        "Now the towpath belongs to walkers, and herons nest beside the locks.",
        {
            "Who dug the canal?": ("Irish labourers",),
            "How long is the canal?": ("forty miles",),
            "What pulled the barges before there were steam tugs?": ("horses",),
            "What replaced the horses?": ("steam tugs",),
            "What was the last cargo?": ("a load of roof tiles", "roof tiles"),
            "Where do herons nest?": ("beside the locks", "the locks"),
        },
    ),
    Passage(
        "When the comet appeared over Tallin Bay in 1811, the schoolmaster Henrik Aas drew it every night "
        "for seven weeks. He worked on the roof of the rope factory, because the school had no flat roof. "
        "His sister Berit kept the notebooks in a biscuit tin. They were found in 1958 by a plumber who "
        "was repairing the attic, and are now on show in the town library.",
        {
            "Who drew the comet?": ("Henrik Aas", "the schoolmaster Henrik Aas"),
            "When did the comet appear?": ("1811",),
            "Where did Henrik Aas work?": (
                "the roof of the rope factory", "on the roof of the rope factory", "the rope factory",
            ),
            "Who found the notebooks?": ("a plumber", "a plumber who was repairing the attic"),
            "When were the notebooks found?": ("1958",),
            "Where are the notebooks now?": ("the town library", "on show in the town library"),
        },
    ),
    Passage(
        "Penguins on Stack Island are counted once a year by two biologists from Lima. They arrive by "
        "helicopter in October and stay for ten days in a plastic dome. Each nest gets a dot of blue paint. "
        "Last year they counted 4300 nests, fewer than ever before. Doctor Inés Quiroga believes that the "
        "birds have moved to the colder southern shore.",
        {
            "Who counts the penguins?": ("two biologists", "two biologists from Lima"),
            "When do the biologists arrive?": ("October",),
            "How do the biologists arrive?": ("by helicopter", "helicopter"),
            "Where do the biologists stay?": ("a plastic dome",),
            "How many nests did they count?": ("4300",),
            "Where have the birds moved?": ("the colder southern shore",),
        },
    ),
    Passage(
        "The clock in Weaver Street has no hands. It was given to the town by a widow, Edna Pruitt, whose "
        "husband had always come home late. A brass ball drops into a bowl every quarter of an hour, and "
        "the number of balls tells the time. Schoolchildren empty the bowl at midnight on New Year's Eve. "
        "The mechanism was restored in 1979 with parts from a sewing machine.",
        {
            "Who gave the clock to the town?": ("Edna Pruitt", "a widow, Edna Pruitt", "a widow"),
            "What drops into the bowl?": ("a brass ball",),
            "Who empties the bowl?": ("schoolchildren",),
            "When is the bowl emptied?": (
                "midnight", "midnight on New Year's Eve", "New Year's Eve",
            ),
            "When was the mechanism restored?": ("1979",),
            "Where is the clock?": ("Weaver Street",),
        },
    ),
    Passage(
        "Tea reached the valley with a Portuguese nun, Mother Benedita, who planted forty bushes behind the "
        "chapel in 1747. The monks laughed at her until they tasted it. Today six families grow tea on the "
        "terraces, and the leaves are dried over fires of beech wood. The harvest starts in late April and "
        "is sold in Antwerp. Tourists may pick their own leaves on Sundays.",
        {
            "Who planted the bushes?": (
                "Mother Benedita", "a Portuguese nun, Mother Benedita", "a Portuguese nun",
            ),
            "Where were the bushes planted?": ("behind the chapel", "the chapel"),
            "How many families grow tea?": ("six", "six families"),
            "When does the harvest start?": ("late April",),
            "Where is the harvest sold?": ("Antwerp",),
            "When may tourists pick leaves?": ("Sundays", "on Sundays"),
        },
    ),
)  # fmt: skip
