import { createServer } from 'node:http'

/** Sitemaps of any size, generated while they are sent: `/index/<urls>.xml` and its files, `/one/<urls>.xml`. 1,000 hosts, URLs of 60 characters. */
const FILE_URLS = 50_000

const server = createServer((request, response) => {
  process.send({ asked: request.url })
  const [, kind, from, to] = /^\/(index|one|part)\/(\d+)(?:-(\d+))?\.xml$/.exec(request.url) ?? []
  if (kind === 'index') {
    const origin = `http://127.0.0.1:${server.address().port}`
    const files = Array.from({ length: Math.ceil(from / FILE_URLS) }, (_, file) => {
      const end = Math.min(from, (file + 1) * FILE_URLS)
      return `<sitemap><loc>${origin}/part/${file * FILE_URLS}-${end}.xml</loc></sitemap>`
    })
    response.end(`<sitemapindex>${files.join('')}</sitemapindex>`)
  } else if (kind === 'one') send(response, 0, Number(from))
  else if (kind === 'part') send(response, Number(from), Number(to))
  else response.writeHead(404).end()
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())

function send(response, from, to) {
  let at = from
  response.write('<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n')
  const more = () => {
    while (at < to) {
      let text = ''
      for (const end = Math.min(to, at + 500); at < end; at++) text += entry(at)
      if (!response.write(text)) return response.once('drain', more)
    }
    return response.end('</urlset>')
  }
  more()
}

function entry(n) {
  return `<url><loc>https://shop-${n % 1000}.example/catalogue/department/product-${n}</loc><lastmod>2026-11-01</lastmod></url>\n`
}
