package search

import _ "embed" // of the words

// stopWords are the words of requests that say nothing about a tool.
//
//go:embed words/stop.txt
var stopWords string

// foreignStopWords are those of other languages. Some are words of tools, such as
// die and os: a word in the name of a tool counts.
//
//go:embed words/foreign.txt
var foreignStopWords string

// actions are what tools do, and the words for it. A line is the words by which
// tools are named, a colon, and further words by which people ask. The words of
// a phrase are joined by _.
//
//go:embed words/actions.txt
var actions string

// things are what tools work on, in lines as those of actions.
//
//go:embed words/things.txt
var things string

// same are words that mean the same: short and irregular forms, and products
// people call by another name.
//
//go:embed words/same.txt
var same string

// products are well-known products and services, and what they are about: words
// by which people ask for them without their name.
//
//go:embed words/products.txt
var products string
