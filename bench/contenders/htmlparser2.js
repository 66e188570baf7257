import { Parser } from 'htmlparser2'
import { crawlByHand } from './hand-rolled.js'

// Streaming: links and record without a tree.
await crawlByHand((html) => {
  const hrefs = []
  const record = { title: '', price: '', sku: '' }
  let field = null
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'a' && attributes.href !== undefined) hrefs.push(attributes.href)
      else if (name === 'h1') field = 'title'
      else if (attributes.class === 'price') field = 'price'
      else if (attributes.class === 'sku') field = 'sku'
    },
    ontext(text) {
      if (field !== null) record[field] += text
    },
    onclosetag() {
      field = null
    },
  })
  parser.end(html)
  return { hrefs, record: { ...record, price: Number(record.price.slice(1)) } }
})
