import { createHash } from 'node:crypto'

/**
 * The site of the benchmarks: `pages` pages of 10 KB with 42 links each, page 0 being '/'. Page i links to pages 30i+1 … 30i+30, so that every page
 * is reachable in a few clicks; the rest of its links are on every page, or already known. Each page contains a record.
 */
export const PAGE_BYTES = 10_240
export const LINKS_PER_PAGE = 42
const CHILDREN = 30
const NAVIGATION = 10

const WORDS =
  'amber anchor atlas barometer basket bell blanket compass copper garden harbour journal kettle lantern marble sextant'.split(
    ' ',
  )
const TEXT =
  'Made by hand in a workshop that smells of tar and fresh shavings, &amp; packed in <em>straw</em> with a card that says how to mend it. '

export function pathOf(index) {
  if (index === 0) return '/'
  return `/catalogue/${WORDS[index % 16]}-${WORDS[(index >>> 4) % 16]}_${index}/index.html`
}

/** The page behind a path, or -1. */
export function indexOf(path, pages) {
  if (path === '/') return 0
  const from = path.lastIndexOf('_') + 1
  const index = Number.parseInt(path.slice(from), 10)
  return from > 0 && index > 0 && index < pages && path === pathOf(index) ? index : -1
}

export function recordOf(index) {
  return {
    title: `The ${WORDS[index % 16]} & the ${WORDS[(index * 7) % 16]}, volume ${index}`,
    price: (100 + ((index * 7919) % 9900)) / 100,
    sku: `SKU-${String(index).padStart(7, '0')}`,
  }
}

export function pageHtml(index, pages) {
  const { title, price, sku } = recordOf(index)
  const heading = title.replace('&', '&amp;')
  let cards = ''
  for (let child = 1; child <= CHILDREN; child++) {
    const target = (index * CHILDREN + child) % pages
    cards += `<article class="card"><a href="${pathOf(target)}" class="title">Volume ${target}</a></article>\n`
  }
  let navigation = ''
  for (let link = 0; link < NAVIGATION; link++)
    navigation += `<li><a href="${pathOf(link % pages)}">Shelf ${link}</a></li>\n`
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${heading}</title></head>
<body>
<ul class="nav">
${navigation}</ul>
<main>
<h1>${heading}</h1>
<p class="price">£${price.toFixed(2)}</p>
<p>Article <span class="sku">${sku}</span></p>
<section>
${cards}</section>
<p><a class="previous" href="${pathOf((index + pages - 1) % pages)}">previous</a> <a class="next" href="${pathOf((index + 1) % pages)}">next</a></p>
`
  return html + filler(PAGE_BYTES - html.length)
}

const fillers = new Map()

/** Paragraphs that fill the page up to its size; only a few lengths occur, so they are cached. */
function filler(length) {
  let text = fillers.get(length)
  if (text === undefined) {
    const end = '</main></body></html>\n'
    const paragraph = `<p>${TEXT.repeat(4)}</p>\n`
    text = paragraph.repeat(Math.floor((length - end.length) / paragraph.length))
    text += ' '.repeat(Math.max(0, length - end.length - text.length)) + end
    fillers.set(length, text)
  }
  return text
}

/** One text for a set of records, whatever their order: contenders and site must produce the same. */
export function digestOf(records) {
  const lines = records.map(({ title, price, sku }) => `${sku}|${title}|${price}`).sort()
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

export function siteDigest(pages) {
  return digestOf(Array.from({ length: pages }, (_, index) => recordOf(index)))
}
