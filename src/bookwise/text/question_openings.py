"""Language → the first two words of a question that only this language has."""

from collections.abc import Mapping

#: Language → openings of a question: a first word and the words after it. Each word alone may be English or a name.
OPENINGS: Mapping[str, Mapping[str, str]] = {
    "de": {
        "was": "ist sind macht bedeutet bedeuten heißt heisst tut kann passiert bewirkt versteht",
        "wer": "ist sind hat kann",
        "wo": "ist sind finde findet liegt steht kann",
        "gibt": "es",
        "zeig": "mir",
    },
    "fr": {
        "comment": """installer utiliser créer creer faire configurer lancer définir definir démarrer demarrer ajouter
        supprimer changer écrire ecrire lire exécuter executer compiler tester afficher envoyer obtenir déclarer
        appeler arrêter fonctionne fonctionnent marche marchent ça ca se peut je""",
        "que": "fait font signifie veut sont faire",
        "où": "est sont trouver se installer",
        "ou": "est sont trouver",
        "quand": "utiliser faut",
        "donne": "moi",
        "dis": "moi",
        "parle": "moi",
    },
    "es": {
        "como": """se funciona funcionan instalo instalar puedo crear creo hago hacer uso usar configuro configurar
        ejecuto ejecutar compilo compilar""",
        "que": "es son significa hace hacen hay",
        "donde": "esta está están puedo se",
        "para": "que",
        "cual": "es",
        "cuales": "son",
        "quien": "es",
        "describe": "un una",
        "define": "un una",
    },
    "pt": {
        "como": "se funciona funcionam instalo instalar posso criar crio faço fazer uso usar configuro configurar",
        "o": "que",
        "que": "é são significa faz",
        "para": "que",
        "quem": "é",
    },
    "it": {
        "come": """si funziona funzionano installo installare posso creo creare faccio fare uso usare configuro
        configurare""",
        "che": "cos cosa è significa fa",
        "cos": "è e",
        "chi": "è",
        "dov": "è",
        "a": "cosa",
    },
    "nl": {"wat": "is zijn doet doen betekent", "wie": "is zijn heeft", "leg": "uit", "kan": "ik je"},
    "sv": {"vad": "är gör betyder", "vem": "är", "var": "är finns", "kan": "jag man"},
    "da": {"hva": "er", "kan": "jeg man"},
    "fi": {"mikä": "on", "mika": "on", "mita": "on"},
    "pl": {"co": "to jest robi oznacza znaczy", "kto": "jest", "po": "co", "do": "czego"},
    "cs": {
        "co": "je jsou to dělá dela znamená znamena",
        "kdo": "je",
        "kde": "je",
        "k": "čemu cemu",
        "proc": "je se to",
    },
    "ro": {
        "ce": "este e sunt înseamnă inseamna face",
        "cum": "se pot fac instalez funcționează functioneaza creez",
        "cine": "este",
        "la": "ce",
    },
    "hu": {"mi": "az a", "mik": "azok a", "hogy": "kell lehet működik", "mire": "való jó"},
    "tr": {"ne": "demek işe zaman yapar"},
    "id": {
        "apa": "itu saja yang arti fungsi perbedaan bedanya kegunaan gunanya",
        "siapa": "yang",
        "di": "mana",
    },
}
