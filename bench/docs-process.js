import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join, normalize } from 'node:path'
import { choosePages } from './docs-pages.js'

/**
 * Serves a folder of documentation in a separate process. The start page links to the chosen pages, so that every crawl visits the same ones first.
 * node bench/docs-process.js <folder> <pages>
 */
const [folder, count] = process.argv.slice(2)
const start = choosePages(folder, Number(count))
  .map((path) => `<a href="/${path.split('/').map(encodeURIComponent).join('/')}">${path}</a>`)
  .join('\n')

const server = createServer(async (request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://docs').pathname))
  const body =
    path === '/'
      ? Buffer.from(`<!doctype html><title>Documentation</title><p>${start}`)
      : await readFile(join(folder, path)).catch(() => null)
  if (body === null) response.writeHead(404, { 'content-length': 0 }).end()
  else {
    // Without a charset: the pages declare their own.
    const type = /\.html?$|\/$/.test(path) ? 'text/html' : 'application/octet-stream'
    response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body)
  }
})
server.keepAliveTimeout = 60_000
process.on('disconnect', () => process.exit(0))
server.listen(
  0,
  '127.0.0.1',
  () => process.send?.({ port: server.address().port }) ?? console.log(server.address().port),
)
