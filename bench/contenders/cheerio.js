import * as cheerio from 'cheerio'
import { crawlByHand } from './hand-rolled.js'

await crawlByHand((html) => {
  // On htmlparser2: twice as fast as cheerio's default parser.
  const $ = cheerio.load(html, { xml: { xmlMode: false, decodeEntities: true } })
  const hrefs = $('a[href]')
    .toArray()
    .map((element) => element.attribs.href)
  return { hrefs, record: { title: $('h1').text(), price: Number($('.price').text().slice(1)), sku: $('.sku').text() } }
})
