"""The words from which `synthetic_qa` makes its paragraphs: people, places, times, things and verbs."""

from typing import Final

FIRST: Final = (
    *("Anna", "Peter", "Maria", "John", "Fatima", "Carlos", "Ingrid", "Samuel", "Leila", "Omar"),
    *("Grace", "Victor", "Nadia", "Thomas", "Mei", "Kofi", "Elena", "Walter", "Ruth", "Ivan"),
    *("Clara", "Hugo", "Amina", "Oscar", "Yuki", "Martin", "Sofia", "George", "Tara", "Emil"),
    *("Helen", "Rafael", "Dora", "Simon", "Zara", "Arthur", "Lucy", "Felix", "Edith", "Noah"),
)
SYLLABLES: Final = (
    *("bar", "ken", "mor", "dal", "hart", "wick", "son", "berg", "stein", "ley", "ton", "ford"),
    *("man", "gar", "ros", "vel", "tor", "lin", "mar", "ash", "bel", "cor", "den", "far", "hol"),
    *("win", "per", "san", "ric", "nor", "lam", "wood", "by", "field", "ett", "ino", "ova", "aki"),
)
ROLES: Final = (
    *("engineer", "painter", "farmer", "teacher", "doctor", "monk", "merchant", "architect"),
    *("fisherman", "king", "nurse", "poet", "scientist", "carpenter", "explorer", "queen"),
    *("mayor", "captain", "baker", "lawyer", "musician", "miner", "priest", "gardener"),
)
GROUPS: Final = (
    *("the villagers", "a group of monks", "the city council", "the fishermen", "a French company"),
    *("the royal family", "two brothers", "the students", "the army", "local volunteers", "the nuns"),
    *("a shipping company", "the miners", "three sisters", "the settlers", "the railway company"),
)
CITIES: Final = (
    *("London", "Paris", "Madrid", "Cairo", "Lima", "Tokyo", "Vienna", "Lagos", "Boston", "Delhi"),
    *("Rome", "Berlin", "Sydney", "Dublin", "Prague", "Chicago", "Warsaw", "Athens", "Lisbon"),
    *("Norway", "Italy", "Kenya", "Peru", "Japan", "Scotland", "Canada", "Egypt", "Greece", "India"),
)
SPOTS: Final = (
    *("river", "hill", "harbour", "market square", "station", "forest", "lake", "church", "castle"),
    *("valley", "beach", "main road", "old wall", "mill", "town hall", "cliff", "bridge", "school"),
)
SIDES: Final = ("northern", "southern", "eastern", "western", "left", "right", "far", "upper")
ROOMS: Final = (
    *("house", "cottage", "tent", "cellar", "farm", "flat", "hut", "hotel", "barn", "boat", "tower"),
    *("cabin", "workshop", "monastery", "hospital", "school", "castle", "cave", "room", "factory"),
)
ADJECTIVES: Final = (
    *("old", "small", "large", "stone", "wooden", "white", "famous", "first", "new", "red", "narrow"),
    *("tall", "golden", "broken", "grand", "secret", "heavy", "round", "simple", "ancient", "iron"),
)
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
DAYS: Final = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
NUMBERS: Final = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fifteen"),
    *("twenty", "thirty", "forty", "fifty", "a hundred", "two hundred", "ten thousand"),
)
BUILDINGS: Final = (
    *("bridge", "mill", "tower", "school", "theatre", "library", "church", "hotel", "castle", "dam"),
    *("station", "hospital", "windmill", "museum", "factory", "monastery", "cinema", "temple"),
    *("canal", "observatory", "garden", "statue", "palace", "chapel", "fountain", "gate", "market"),
)
WORKS: Final = (
    *("portrait", "novel", "opera", "song", "map", "poem", "letter", "symphony", "play", "diary"),
    *("report", "film", "dictionary", "mural", "carpet", "clock", "guitar", "photograph", "book"),
)
DEVICES: Final = (
    *("engine", "pump", "lamp", "machine", "furnace", "stove", "ship", "train", "tractor", "oven"),
    *("telescope", "generator", "bell", "boiler", "lift", "printing press", "heater", "crane"),
)
STUFFS: Final = (
    *("coal", "wood", "olive oil", "fish", "honey", "wool", "salt", "silk", "paper", "cheese"),
    *("wheat", "glass", "copper", "rice", "wine", "tea", "cotton", "steam", "diesel", "ice"),
    *("shoes", "tools", "apples", "bread", "candles", "bricks", "potatoes", "timber", "gas", "gold"),
)
ANIMALS: Final = ("goats", "sheep", "horses", "bees", "hens", "cows", "pigs", "dogs", "camels")
AGENTS: Final = (
    *("a motor", "a computer", "a small dog", "the wind", "the tide", "two guards", "an old clock"),
    *("a volunteer", "a pump", "the cook", "a robot", "the sun", "a water wheel", "the caretaker"),
)
EVENTS: Final = (
    *("the war began", "the railway came", "the storm of 1953", "the flood", "electricity arrived"),
    *("the king died", "the mine closed", "the new road opened", "the fire", "the earthquake"),
)
REASONS: Final = (
    *("the roof had collapsed", "there was no money left", "the water was too cold", "it was raining"),
    *("the river had flooded", "the owner fell ill", "nobody wanted to work there", "prices had risen"),
    *("the harbour was frozen", "the bridge was unsafe", "the wood was rotten", "too few people came"),
)
Verb = tuple[str, str, str]  # base, past, participle
MAKE: Final[tuple[Verb, ...]] = (
    ("build", "built", "built"), ("design", "designed", "designed"), ("found", "founded", "founded"),
    ("restore", "restored", "restored"), ("destroy", "destroyed", "destroyed"),
    ("open", "opened", "opened"), ("buy", "bought", "bought"), ("close", "closed", "closed"),
    ("repair", "repaired", "repaired"), ("pay for", "paid for", "paid for"),
    ("visit", "visited", "visited"), ("plan", "planned", "planned"), ("extend", "extended", "extended"),
)  # fmt: skip
CREATE: Final[tuple[Verb, ...]] = (
    ("write", "wrote", "written"), ("paint", "painted", "painted"), ("steal", "stole", "stolen"),
    ("find", "found", "found"), ("compose", "composed", "composed"), ("make", "made", "made"),
    ("publish", "published", "published"), ("translate", "translated", "translated"),
    ("sell", "sold", "sold"), ("discover", "discovered", "discovered"), ("draw", "drew", "drawn"),
    ("finish", "finished", "finished"), ("lose", "lost", "lost"), ("show", "showed", "shown"),
)  # fmt: skip
INVENT: Final[tuple[Verb, ...]] = (
    ("invent", "invented", "invented"), ("install", "installed", "installed"),
    ("build", "built", "built"), ("replace", "replaced", "replaced"), ("test", "tested", "tested"),
    ("bring", "brought", "brought"), ("repair", "repaired", "repaired"), ("start", "started", "started"),
)  # fmt: skip
DWELL: Final[tuple[Verb, ...]] = (
    ("live", "lived", "lived"), ("work", "worked", "worked"), ("sleep", "slept", "slept"),
    ("stay", "stayed", "stayed"), ("grow up", "grew up", "grown up"), ("teach", "taught", "taught"),
    ("hide", "hid", "hidden"), ("meet", "met", "met"), ("settle", "settled", "settled"),
    ("study", "studied", "studied"), ("die", "died", "died"), ("land", "landed", "landed"),
    ("train", "trained", "trained"), ("sing", "sang", "sung"), ("spend the winter", "spent the winter", ""),
)  # fmt: skip
CONSUME: Final[tuple[Verb, ...]] = (
    ("burn", "burned", "burned"), ("use", "used", "used"), ("need", "needed", "needed"),
    ("produce", "produced", "produced"), ("carry", "carried", "carried"),
)  # fmt: skip
TRADE: Final[tuple[Verb, ...]] = (
    ("sell", "sold", "sold"), ("eat", "ate", "eaten"), ("grow", "grew", "grown"),
    ("make", "made", "made"), ("export", "exported", "exported"), ("collect", "collected", "collected"),
    ("trade", "traded", "traded"), ("carry", "carried", "carried"), ("bring", "brought", "brought"),
)  # fmt: skip
DRIVE: Final[tuple[Verb, ...]] = (  # present, third person instead of the base
    ("opens", "opened", "opened"), ("drives", "drove", "driven"), ("lights", "lit", "lit"),
    ("moves", "moved", "moved"), ("guards", "guarded", "guarded"), ("cleans", "cleaned", "cleaned"),
    ("heats", "heated", "heated"), ("controls", "controlled", "controlled"), ("turns", "turned", "turned"),
    ("switches on", "switched on", "switched on"), ("powers", "powered", "powered"),
)  # fmt: skip
