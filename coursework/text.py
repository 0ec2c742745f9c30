"""A page to read and to count: the text of the vocabulary exercises, written for this course."""

from typing import Final

PAGE: Final = """\
The harbour had two clocks, and they had never agreed. The clock on the church was slow; the clock \
on the customs house was fast. Between the two lay eleven minutes, and in those eleven minutes the \
town did as it liked.

Bakers sold yesterday's bread at today's price. Sailors who were late by one clock were early by \
the other. Children who were asked why they weren't at school pointed at the church; asked why they \
were home so soon, they pointed at the customs house. The mayor made all his promises in the gap, \
for nobody could say on which day he had made them.

Then a clockmaker came, a quiet woman with a grey cat and a small brass key. "Eleven minutes," she \
said to the cat. "We can mend that." She climbed the church and listened. She climbed the customs \
house and listened. In the evening she sat by the water, and the cat sat by her, and the two clocks \
struck, one after the other, like an old couple telling the same story.

In the morning both clocks struck together. The bread was fresh, and cost what it cost. The children \
went to school, and the sailors went to sea. The mayor promised nothing at all. It was, everybody \
said, a great improvement, and for a week the town was very well and very bored.

On the eighth day somebody climbed the church at night. Nobody saw who it was, and nobody asked. But \
the clock on the church was slow again, by eleven minutes; and under the bell lay a small brass key, \
and on the key, asleep, lay a grey cat.
"""
