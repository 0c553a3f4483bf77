"""Questions that hardly any technical book answers. A book without off-topic questions is calibrated on them."""

_TEXT = """
How long should I rest a roast chicken before I carve it?
What can I use instead of buttermilk in pancakes?
How do I stop rice from sticking to the bottom of the pot?
Which flour is best for fresh egg pasta?
How do I sharpen a kitchen knife on a whetstone?
At what temperature does milk chocolate lose its shine?
How many grams of salt belong in a litre of pasta water?
Why does my custard split when I warm it up again?
Who was the last emperor of the Western Roman Empire?
In which year did the Hanseatic League hold its last meeting?
What led to the War of the Spanish Succession?
Which queen ruled Egypt together with her brother Ptolemy XIII?
How did the Black Death change wages in medieval England?
Who commanded the Persian fleet at Salamis?
When was the Edict of Nantes revoked?
What did people trade along the Silk Road?
How many players of a rugby union team are forwards?
What counts as offside in ice hockey?
Who has won the most Grand Slam titles in women's tennis?
How long is an Olympic steeplechase?
When may a cricket captain declare an innings closed?
How is a tie broken at the chess Candidates tournament?
Which stroke comes first in the individual medley?
How many points is a slam dunk worth?
How long does a tenant have to object to a rent increase?
Can I return a used car to the dealer within fourteen days?
What happens to my will if I get divorced?
Who inherits when somebody dies without children or a spouse?
How much is the fine for parking in front of a fire hydrant?
Do I need a permit to put up a garden shed?
May my employer refuse to give me a reference letter?
How do I contest a speeding ticket I got abroad?
When is the right time to prune climbing roses?
Why do the leaves of my tomatoes turn yellow from below?
How deep should tulip bulbs be planted?
Which vegetables grow well in half shade?
How do I get rid of slugs without poison?
How often does a bonsai have to be repotted?
What can I sow between rows of carrots?
When are quinces ripe enough to be picked?
How many strings does a viola da gamba have?
In which key did Schubert write his Trout Quintet?
How do I tune a ukulele by ear?
Who sang the part of Tosca at the first performance?
What is the difference between a madrigal and a motet?
How should I hold the bow of a double bass?
Which reed strength is right for a beginner on the oboe?
Who wrote the songs of the musical Oklahoma?
What is the capital of Burkina Faso?
Which river flows through Bratislava and Budapest?
How high is the highest mountain of the Caucasus?
Which two countries share the island of Timor?
On which sea does the port of Odesa lie?
How many inhabited islands belong to the Faroes?
Which desert covers most of southern Mongolia?
What is the longest fjord in Norway called?
How often should a newborn baby be fed at night?
Which vaccinations does my dog need before we travel to Spain?
How can I get red wine out of a wool carpet?
What should I wear to a wedding in a country church?
How do I knit the heel of a sock?
At what age do kittens lose their milk teeth?
How much should I tip a taxi driver in Lisbon?
Which tea is traditionally served at a Moroccan breakfast?
"""

FOREIGN_QUESTIONS = tuple(_TEXT.strip().splitlines())
