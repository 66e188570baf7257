import * as cheerio from 'cheerio'
import { crawlByHand } from './hand-rolled.js'
import { readWithCheerio } from './read-with-cheerio.js'

// cheerio on htmlparser2, which its documentation recommends for speed: a tree without implied elements and without corrections.
await crawlByHand((html) => readWithCheerio(cheerio.load(html, { xml: { xmlMode: false, decodeEntities: true } })))
