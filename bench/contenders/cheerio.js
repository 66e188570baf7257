import * as cheerio from 'cheerio'
import { crawlByHand } from './hand-rolled.js'
import { readWithCheerio } from './read-with-cheerio.js'

// cheerio as its documentation shows it: parse5, and so the tree of a browser, as page.$ has.
await crawlByHand((html) => readWithCheerio(cheerio.load(html)))
