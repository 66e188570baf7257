import { createServer } from 'node:http'
import { indexOf, pageHtml } from './site.js'

/** Serves the site in a separate process and counts its requests: {begin} resets the counts, {report} returns them. */
let pages = 1
let delayMs = 0
let visits = new Uint32Array(1)
let strangers = []
let firstAt = 0
let lastAt = 0
let served = 0

const server = createServer((request, response) => {
  if (request.url === '/robots.txt') {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 27 })
    response.end('User-agent: *\nDisallow: /x\n')
    return
  }
  const index = indexOf(request.url, pages)
  if (index < 0) {
    if (strangers.length < 10) strangers.push(request.url)
    response.writeHead(404, { 'content-length': 0 })
    response.end()
    return
  }
  if (firstAt === 0) firstAt = performance.now()
  visits[index]++
  const send = () => {
    const body = Buffer.from(pageHtml(index, pages))
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': body.length })
    response.end(body)
    lastAt = performance.now()
    served++
  }
  if (delayMs > 0) setTimeout(send, delayMs)
  else send()
})
server.keepAliveTimeout = 60_000

process.on('message', (message) => {
  if (message.kind === 'begin') {
    pages = message.pages
    delayMs = message.delayMs
    visits = new Uint32Array(pages)
    strangers = []
    firstAt = lastAt = served = 0
    process.send({ kind: 'begun' })
  } else if (message.kind === 'report') {
    const missing = visits.reduce((count, times) => count + (times === 0 ? 1 : 0), 0)
    const twice = visits.reduce((count, times) => count + (times > 1 ? 1 : 0), 0)
    process.send({ kind: 'report', served, missing, twice, strangers, seconds: (lastAt - firstAt) / 1000 })
  }
})
process.on('disconnect', () => process.exit(0))

server.listen(0, '127.0.0.1', () => process.send({ kind: 'ready', port: server.address().port }))
