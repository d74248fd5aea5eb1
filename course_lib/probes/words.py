"""Frases para interrogar a un BERT, y lo que se mide en ellas.

Las parejas y las frases se escribieron antes de medir nada con ellas, y no se han retocado. De los
adjetivos de ``neutral`` están todos los que se probaron, salgan como salgan. Hay unas en inglés y
otras, menos, en español: ``load_probes`` elige según el vocabulario del modelo. Las españolas no
se han medido: hace falta un BERT en español.

Fuente de la idea, dos frases que solo se distinguen en una palabra: los esquemas de Winograd
(Levesque et al., 2012).
"""

import random
from dataclasses import dataclass
from typing import NamedTuple

import torch

from course_lib.bert import extract_embeddings, load_bert


class Pair(NamedTuple):
    """Dos sustantivos, el verbo que los une y un adjetivo para cada uno."""

    first: str
    second: str
    active: str
    passive: str
    first_adjective: str
    second_adjective: str


@dataclass(frozen=True)
class Probes:
    """Las frases de un idioma.

    - ``forms``: de cada forma, su plantilla y la palabra cuya fila se mira.
    - ``living``: parejas de un ser vivo y una cosa, cada uno con un adjetivo suyo.
    - ``things`` y ``both_living``: lo mismo, con dos cosas y con dos seres vivos.
    - ``neutral``: parejas de adjetivos que valen para un ser vivo y para una cosa.
    - ``varied``: frases sueltas.
    - ``senses``: de cada palabra con dos sentidos, las frases de uno y las del otro.
    - ``topics``: de cada palabra con un solo sentido, las frases de dos temas.
    """

    language: str
    forms: dict
    living: tuple
    things: tuple
    both_living: tuple
    neutral: tuple
    varied: tuple
    senses: dict
    topics: dict

    def query(self, form="active"):
        """La palabra cuya fila se mira en esa forma: el pronombre o lo que haga sus veces."""
        return self._form(form)[1]

    def sentence(self, pair, adjective, form="active"):
        """Escribe la frase de una pareja, con el adjetivo que se quiera.

        Args:
            pair: un ``Pair``.
            adjective: cómo acaba la frase; una sola palabra.
            form: una de ``forms``, o ``"shuffled"``: las palabras de ``"active"``, barajadas. El
                orden depende de la pareja y no del adjetivo.

        Raises:
            ValueError: si la forma no existe.
        """
        words = self._form(form)[0].format(adjective=adjective, **pair._asdict()).split()
        if form == "shuffled":
            random.Random(f"{pair.first} {pair.second}").shuffle(words)
        return " ".join(words)

    def _form(self, form):
        if form not in self.forms and form != "shuffled":
            options = ", ".join([*self.forms, "shuffled"])
            raise ValueError(f"No hay ninguna forma {form!r}. Las que hay: {options}.")
        return self.forms["active" if form == "shuffled" else form]


def load_probes(language=None):
    """Las frases en el idioma del modelo cargado.

    Args:
        language: ``"en"`` o ``"es"``. Si falta, aquel cuyos sustantivos conozca mejor, enteros,
            el vocabulario de ``load_bert()``.

    Raises:
        ValueError: si no hay frases en ese idioma.
    """
    if language is None:
        known = load_bert().tokenizer.get_vocab()
        shares = {
            name: sum(pair.second in known for pair in probes.living) / len(probes.living)
            for name, probes in PROBES.items()
        }
        language = max(shares, key=shares.get)
    if language not in PROBES:
        raise ValueError(
            f"load_probes: language = {language!r}, y hay frases en: {', '.join(PROBES)}."
        )
    return PROBES[language]


def find_word(tokens, word):
    """Dice en qué posiciones está una palabra que aparece una sola vez.

    Args:
        tokens: los tokens de una frase, como los da ``extract_embeddings``.
        word: la palabra, entera.

    Returns:
        ``slice``: del primer trozo de la palabra al último.

    Raises:
        ValueError: si la palabra no está, o está más de una vez.
    """
    pieces = load_bert().tokenizer.tokenize(word)
    ends = [(i, i + len(pieces)) for i in range(len(tokens) - len(pieces) + 1)]
    found = [
        slice(start, end)
        for start, end in ends
        if tokens[start:end] == pieces and not "".join(tokens[end : end + 1]).startswith("##")
    ]
    if len(found) != 1:
        raise ValueError(
            f"find_word: «{word}» está {len(found)} veces en «{' '.join(tokens)}», y tiene que "
            "estar una."
        )
    return found[0]


def attention_between(sentences, query, keys):
    """Cuánto mira una palabra a otras, en cada cabeza.

    Args:
        sentences: n frases.
        query: la palabra que mira, la misma en todas.
        keys: de cada frase, las k palabras miradas.

    Returns:
        ``(n, k, capas, h)``: el peso. Si el tokenizador parte una palabra, el de una key es la
        suma de los de sus trozos y el de la query, la media.

    Raises:
        ValueError: si una palabra no está en su frase, o está más de una vez, o si no hay un
            grupo de keys por frase.
    """
    sentences = list(sentences)
    if len(sentences) != len(keys):
        raise ValueError(
            f"attention_between: hay {len(sentences)} frases y {len(keys)} grupos de keys, y tiene "
            "que haber uno por frase."
        )
    read = extract_embeddings(sentences)
    weights = torch.stack(read.attentions).transpose(0, 1)  # (n, capas, h, L, L)
    between = []
    for tokens, matrix, words in zip(read.tokens, weights, keys):
        row = matrix[:, :, find_word(tokens, query)].mean(dim=2)  # (capas, h, L)
        found = [row[:, :, find_word(tokens, word)].sum(dim=-1) for word in words]
        between.append(torch.stack(found))
    return torch.stack(between)


def word_vectors(sentences, word):
    """Los vectores de una palabra en varias frases, a la entrada y a la salida de cada capa.

    Args:
        sentences: n frases con la palabra, una vez cada una.
        word: la palabra. Si el tokenizador la parte, se toma la media de sus trozos.

    Returns:
        ``(capas + 1, n, d_model)``.

    Raises:
        ValueError: si la palabra no está en una frase, o está más de una vez.
    """
    read = extract_embeddings(list(sentences))
    states = torch.stack(read.hidden_states)  # (capas + 1, n, L, d_model)
    places = [find_word(tokens, word) for tokens in read.tokens]
    vectors = [states[:, i, place].mean(dim=1) for i, place in enumerate(places)]
    return torch.stack(vectors, dim=1)


def read_versions(probes, pairs):
    """Lee las dos frases de cada pareja: con el adjetivo del primero y con el del segundo.

    Args:
        probes: las frases de un idioma.
        pairs: n parejas.

    Returns:
        ``(read, places)``: un ``BertEmbeddings`` de 2n frases, las dos de una pareja seguidas, y
        dónde están en cada una el pronombre y los dos sustantivos, ``(3, 2n)``. De una palabra
        partida, el primer trozo.
    """
    versions = [(pair, a) for pair in pairs for a in (pair.first_adjective, pair.second_adjective)]
    read = extract_embeddings([probes.sentence(*version) for version in versions])
    places = [
        [find_word(tokens, word).start for word in (probes.query(), pair.first, pair.second)]
        for tokens, (pair, _) in zip(read.tokens, versions)
    ]
    return read, torch.tensor(places).T


def place_and_content(weights, shuffled, order):
    """Si los pesos siguen a los sitios o a las palabras, cuando se barajan las palabras.

    Son dos correlaciones con los pesos de antes: la de los de después, casilla a casilla, y la
    de los de después una vez deshecha la baraja. Cuentan los pares de palabras distintas; las
    marcas, la primera y la última posición, no cuentan.

    Args:
        weights: ``(..., L, L)``, los pesos de antes.
        shuffled: ``(..., L, L)``, los de después.
        order: ``(L − 2,)``, qué palabra de antes hay en cada sitio.

    Returns:
        ``(place, content)``, las dos de forma ``(...)``.
    """
    before, after = weights[..., 1:-1, 1:-1], shuffled[..., 1:-1, 1:-1]
    back = torch.as_tensor(order).argsort()
    return _correlation(before, after), _correlation(before, after[..., back, :][..., back])


def _correlation(a, b):
    apart = ~torch.eye(a.shape[-1], dtype=torch.bool)
    a, b = a[..., apart], b[..., apart]
    a, b = a - a.mean(dim=-1, keepdim=True), b - b.mean(dim=-1, keepdim=True)
    return torch.cosine_similarity(a, b, dim=-1)


def rank_correlation(a, b):
    """Correlación de rangos: cuánto se parecen el orden de unos números y el de otros.

    Vale 1 si el orden es el mismo y −1 si es el contrario.

    Args:
        a, b: ``(n,)``, sin empates.

    Fuente: Spearman (1904).
    """
    ranks = torch.stack([x.argsort().argsort() for x in (a, b)]).double()
    return torch.corrcoef(ranks)[0, 1]


# --- En inglés -------------------------------------------------------------------------------------

_ENGLISH_FORMS = {
    "active": ("The {first} {active} the {second} because it was {adjective}", "it"),
    "passive": ("The {second} was {passive} by the {first} because it was {adjective}", "it"),
    "negated": ("The {first} {active} the {second} because it was not {adjective}", "it"),
    "name": ("The {first} {active} the {second} because Mary was {adjective}", "Mary"),
}
_ENGLISH_LIVING = """
dog bone chewed chewed hungry rotten
cat milk drank drunk thirsty fresh
horse gate kicked kicked angry locked
bird nest left left afraid broken
bear honey stole stolen hungry sweet
monkey cup dropped dropped tired hot
mouse trap avoided avoided clever dangerous
lion meat ate eaten hungry raw
fish river left left sick polluted
cow grass refused refused ill dry
rabbit road crossed crossed brave empty
wolf path followed followed hungry narrow
elephant bridge crossed crossed thirsty wooden
goat wall climbed climbed curious low
snake house entered entered hungry abandoned
tiger cave left left bored dark
duck lake avoided avoided lazy frozen
bee flower visited visited busy open
sheep hay ignored ignored sick stale
fox egg stole stolen clever fresh
whale ship avoided avoided shy crowded
puppy shoe hid hidden excited expensive
kitten ball pushed pushed playful round
frog pond left left nervous shallow
"""
_ENGLISH_THINGS = """
knife bread cut cut sharp soft
hammer glass broke broken heavy fragile
sun ice melted melted hot thin
fire paper burned burned hot dry
lamp room lit lit bright dark
train bridge damaged damaged heavy weak
storm roof destroyed destroyed violent rotten
needle balloon popped popped sharp full
saw wood cut cut powerful soft
truck gate smashed smashed fast closed
bomb tower destroyed destroyed powerful unstable
wind tent moved moved strong light
"""
_ENGLISH_BOTH_LIVING = """
dog cat chased chased hungry afraid
wolf sheep ate eaten hungry weak
lion zebra caught caught fast slow
cat mouse followed followed hungry small
eagle rabbit attacked attacked hungry alone
shark fish bit bitten aggressive slow
horse rider threw thrown wild careless
cow farmer kicked kicked angry rude
bear hunter attacked attacked wounded armed
snake frog swallowed swallowed hungry small
dog thief bit bitten fierce nervous
hen fox avoided avoided afraid dangerous
"""
_ENGLISH_NEUTRAL = """
strange special
strange odd
beautiful ugly
different same
new old
white black
big small
big large
famous unknown
"""
_ENGLISH_VARIED = """
The old train left the station at seven in the morning.
My sister bought three red apples and a loaf of bread.
Nobody knows why the lights went out last night.
If it rains tomorrow, we will stay at home and play cards.
The doctor who lives next door speaks four languages.
Did you really walk all the way to the beach?
He opened the window, looked outside and closed it again.
A small boat was crossing the river under the bridge.
She has never eaten fish, but her brother loves it.
Please turn off the radio before you leave the room.
The children were laughing because the clown fell down.
In winter the lake is covered with thick ice.
Water boils at one hundred degrees.
What a beautiful garden your grandmother has!
The teacher gave each student a different book.
They are going to build a new school near the park.
I forgot my keys, so I had to wait for two hours.
The soup was too hot, and the bread was too hard.
An hour later the storm was finally over.
Some people prefer tea while others drink only coffee.
The letter that you sent me in June never arrived.
Cats sleep most of the day and hunt at night.
There is a hole in the roof of the old barn.
We saw a film about two friends who travel around the world.
"""
_ENGLISH_SENSES = """
bank
We sat on the bank of the river
The boat reached the other bank after the storm
Reeds grow along the muddy bank of the lake
She opened an account at the bank
The bank raised its interest rates again
He borrowed the money from a bank

bat
A bat flew out of the dark cave
The bat hung upside down and slept
An owl caught a bat at night
He hit the ball with a bat
The player broke his wooden bat
She swung the bat and missed

spring
Flowers bloom every spring
The spring was warm and rainy this year
Birds come back in spring
The spring inside the mattress is broken
He pressed the metal spring and released it
A steel spring holds the valve closed

light
Turn off the light in the kitchen
The light of the lamp was too weak
The sun gives us light
This suitcase is very light
Feathers are light and soft
He carried a light bag on his back

match
He lit the candle with a match
The match burned his fingers
She struck a match in the dark
Our team won the match
The match ended without goals
They watched the tennis match together

bark
The bark of the dog woke us
I heard a loud bark behind the gate
The puppy answered with a short bark
The bark of the oak is thick
Beetles live under the bark of pines
He carved his name in the bark

ring
He gave her a gold ring
She lost her wedding ring
The ring has a small diamond
The boxers entered the ring
The fighter fell in the ring
The referee stopped the fight in the ring

seal
The seal swims after the fish
A seal slept on the ice
The shark attacked a young seal
The envelope had a red wax seal
The king put his seal on the document
Do not break the seal of the box

palm
She read the lines of my palm
He held the coin in his palm
The ball hit the palm of her hand
A tall palm grew near the beach
The palm gave us shade in the desert
Coconuts fell from the palm

nail
She painted her nail red
He broke a nail while climbing
The nail of my thumb hurts
He hit the nail with a hammer
The picture hangs from a rusty nail
A nail in the road broke our wheel
"""
_ENGLISH_TOPICS = """
dog
The dog slept on the sofa
Our dog waits at the door
The children wash the dog in the garden
The dog found the drugs at the airport
A police dog attacked the thief
The officer trained his dog every day

car
The car won the race in Monaco
The pilot crashed his car on the last lap
A new engine made the car faster
We put the children in the car
The car is full of shopping bags
She left the car in front of the school

water
Boil the water for the pasta
Add water and salt to the soup
She filled the kettle with water
The ship disappeared under the water
The water of the ocean is salty
Dolphins jumped out of the water

book
The pupils opened the book at page ten
The teacher explained the book to the class
I studied the book before the exam
The book sold a million copies
The author signed her book in the shop
The publisher printed the book in Paris

window
She cleaned the window with a cloth
The cat sleeps by the kitchen window
A branch broke the window of the house
The passenger saw the clouds through the window
The pilot opened the window of the plane
I asked for a window seat on the flight

knife
He cut the onion with a knife
Put the knife next to the plate
The cook needs a sharper knife
The police found the knife in the river
The killer hid the knife
There was blood on the knife
"""

# --- En español ------------------------------------------------------------------------------------
# El sujeto no se dice: se mira la fila del verbo. Los dos sustantivos de una pareja son masculinos,
# para que el género del adjetivo no delate a quién se refiere.

_SPANISH_FORMS = {
    "active": ("El {first} {active} el {second} porque estaba {adjective}", "estaba"),
    "passive": ("El {second} fue {passive} por el {first} porque estaba {adjective}", "estaba"),
    "negated": ("El {first} {active} el {second} porque no estaba {adjective}", "estaba"),
    "name": ("El {first} {active} el {second} porque Pablo estaba {adjective}", "estaba"),
}
_SPANISH_LIVING = """
perro hueso mordió mordido hambriento podrido
gato queso robó robado hambriento rancio
caballo portón golpeó golpeado furioso cerrado
pájaro nido abandonó abandonado asustado roto
oso panal destrozó destrozado hambriento lleno
mono vaso tiró tirado cansado vacío
ratón agujero buscó buscado asustado oculto
león filete devoró devorado hambriento crudo
toro muro embistió embestido furioso agrietado
conejo camino cruzó cruzado distraído desierto
lobo sendero siguió seguido hambriento helado
burro carro volcó volcado nervioso oxidado
"""
_SPANISH_THINGS = """
cuchillo pan cortó cortado afilado blando
horno pastel quemó quemado encendido crudo
cubo suelo mojó mojado lleno seco
camión muro derribó derribado cargado agrietado
viento toldo arrancó arrancado desatado suelto
rotulador papel manchó manchado abierto limpio
"""
_SPANISH_BOTH_LIVING = """
perro gato persiguió perseguido hambriento asustado
lobo cordero atacó atacado hambriento enfermo
zorro conejo cazó cazado atento distraído
toro torero embistió embestido furioso descuidado
tiburón buzo mordió mordido hambriento distraído
búho ratón atrapó atrapado hambriento herido
"""
_SPANISH_NEUTRAL = """
limpio sucio
mojado seco
nuevo viejo
"""
_SPANISH_VARIED = """
El viejo tren salió de la estación a las siete de la mañana.
Mi hermana compró tres manzanas rojas y una barra de pan.
Nadie sabe por qué se apagaron las luces anoche.
Si llueve mañana, nos quedaremos en casa jugando a las cartas.
La médica que vive al lado habla cuatro idiomas.
¿De verdad fuiste andando hasta la playa?
Abrió la ventana, miró fuera y la volvió a cerrar.
Un pequeño barco cruzaba el río bajo el puente.
Ella nunca ha comido pescado, pero a su hermano le encanta.
Apaga la radio antes de salir del cuarto, por favor.
Los niños se reían porque el payaso se cayó.
En invierno el lago se cubre de hielo.
El agua hierve a cien grados.
¡Qué jardín tan bonito tiene tu abuela!
La profesora dio a cada alumno un libro distinto.
Van a construir una escuela nueva cerca del parque.
Olvidé el paraguas, así que tuve que esperar dos horas.
La sopa estaba demasiado caliente y el pan, demasiado duro.
Hay un agujero en el tejado del viejo granero.
Vimos una película sobre dos amigos que recorren el mundo.
"""
_SPANISH_SENSES = """
banco
Nos sentamos en el banco del parque
El banco de madera está recién pintado
Una anciana descansa en un banco de piedra
Pedí un préstamo en el banco
El banco cobra intereses muy altos
Los ladrones atracaron el banco

hoja
Una hoja cayó del árbol
La hoja del roble se vuelve amarilla
El gusano se come la hoja
Escribe tu nombre en una hoja
Arrancó una hoja del cuaderno
La hoja de papel está en blanco

vela
Encendió una vela en la oscuridad
La vela se apagó con el viento
Leía a la luz de una vela
El barco perdió su vela
La vela del velero es blanca
Izaron la vela para salir del puerto

planta
Riega la planta cada semana
La planta tiene flores rojas
Una planta crece en la maceta
Vivimos en la primera planta
El ascensor no llega a la última planta
La planta baja del edificio está vacía

copa
Bebió una copa de vino
La copa de cristal se rompió
Llenó la copa hasta el borde
El pájaro canta en la copa del árbol
La copa del pino da sombra
Un nido se ve en la copa del roble

sierra
Cortó la tabla con una sierra
La sierra no tiene dientes
El carpintero afila su sierra
Hay nieve en la sierra
Subimos a la sierra a caminar
Los lobos viven en la sierra
"""
_SPANISH_TOPICS = """
perro
El perro duerme en el sofá
Nuestro perro espera en la puerta
Los niños bañan a su perro en el jardín
El perro encontró la droga en el aeropuerto
Un perro de la policía mordió al ladrón
El agente entrena a su perro cada día

coche
El coche ganó la carrera
El piloto estrelló su coche en la última vuelta
Un motor nuevo hace más rápido el coche
Subimos a los niños al coche
El coche está lleno de bolsas
Dejó el coche delante de la escuela

agua
Hierve el agua para la pasta
Añade agua y sal a la sopa
Llenó la olla con agua
El barco desapareció bajo el agua
El agua del mar es salada
Los delfines saltan fuera del agua

libro
Los alumnos abrieron el libro
El profesor explica el libro a la clase
Estudié el libro antes del examen
El libro vendió un millón de copias
La autora firma su libro en la tienda
La editorial imprimió el libro en París
"""

# --- Todo junto ---------------------------------------------------------------------------------


def _rows(text):
    return tuple(tuple(line.split()) for line in text.strip().splitlines())


def _pairs(text):
    return tuple(Pair(*row) for row in _rows(text))


def _groups(text):
    """De cada palabra, dos grupos de tres frases."""
    blocks = [block.splitlines() for block in text.strip().split("\n\n")]
    return {word: (tuple(lines[:3]), tuple(lines[3:])) for word, *lines in blocks}


PROBES = {
    "en": Probes(
        language="en",
        forms=_ENGLISH_FORMS,
        living=_pairs(_ENGLISH_LIVING),
        things=_pairs(_ENGLISH_THINGS),
        both_living=_pairs(_ENGLISH_BOTH_LIVING),
        neutral=_rows(_ENGLISH_NEUTRAL),
        varied=tuple(_ENGLISH_VARIED.strip().splitlines()),
        senses=_groups(_ENGLISH_SENSES),
        topics=_groups(_ENGLISH_TOPICS),
    ),
    "es": Probes(
        language="es",
        forms=_SPANISH_FORMS,
        living=_pairs(_SPANISH_LIVING),
        things=_pairs(_SPANISH_THINGS),
        both_living=_pairs(_SPANISH_BOTH_LIVING),
        neutral=_rows(_SPANISH_NEUTRAL),
        varied=tuple(_SPANISH_VARIED.strip().splitlines()),
        senses=_groups(_SPANISH_SENSES),
        topics=_groups(_SPANISH_TOPICS),
    ),
}
