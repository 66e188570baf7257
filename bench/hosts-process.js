import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { indexOf, pageHtml } from './site.js'

/**
 * The site on many hosts, 127.0.0.1 and up, each with all its pages; {begin} opens them, {report} returns the requests in their order.
 * With `answerMs` a page takes between these two times, always the same for the same page. Two more hosts may be bad: one accepts connections and
 * never responds, one takes `slowMs` for each page.
 */
const ROBOTS = 'User-agent: *\nDisallow: /x\n'
const WRAPPED = '/wrapped?url='

let pages = 1
let answerMs = [0, 0]
let visits = new Uint32Array(0)
let strangers = []
/** Healthy pages in the order of their responses: the host, and milliseconds since the first request. */
let order = []
let bad = { hung: 0, slow: 0 }
let firstAt = 0
let servers = []

process.on('message', async (message) => {
  if (message.kind === 'begin') process.send({ kind: 'begun', ...(await begin(message)) })
  else if (message.kind === 'report') process.send({ kind: 'report', ...report() })
})
process.on('disconnect', () => process.exit(0))
process.send({ kind: 'ready' })

async function begin({ hosts, pages: each, slowMs, answerMs: between = [0, 0] }) {
  for (const server of servers) {
    server.closeAllConnections?.()
    server.close()
  }
  servers = []
  pages = each
  answerMs = between
  visits = new Uint32Array(hosts * pages)
  strangers = []
  order = []
  bad = { hung: 0, slow: 0 }
  firstAt = 0
  const origins = await Promise.all(
    Array.from({ length: hosts }, (_, host) => listen(createServer(healthy(host)), host + 1)),
  )
  if (slowMs === undefined) return { origins, badOrigins: [] }
  const hanging = createTcpServer((socket) => {
    bad.hung++
    socket.on('error', () => {}).resume()
  })
  const badOrigins = await Promise.all([listen(hanging, hosts + 1), listen(createServer(late(slowMs)), hosts + 2)])
  return { origins, badOrigins }
}

function listen(server, nth) {
  servers.push(server)
  if ('keepAliveTimeout' in server) server.keepAliveTimeout = 60_000
  const address = `127.0.0.${nth}`
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, address, () => resolve(`http://${address}:${server.address().port}`))
  })
}

function healthy(host) {
  return (request, response) => {
    // A service that fetches for others, by the URL that it is given.
    const wrapped = request.url.startsWith(WRAPPED)
    const path = wrapped ? new URL(decodeURIComponent(request.url.slice(WRAPPED.length))).pathname : request.url
    if (path === '/robots.txt') return send(response, ROBOTS, 'text/plain')
    const index = indexOf(path, pages)
    if (index < 0) return unknown(request, response)
    if (order.length === 0) {
      firstAt = performance.now()
      process.send({ kind: 'first' })
    }
    visits[host * pages + index]++
    order.push([host, Math.round(performance.now() - firstAt)])
    const reply = () => {
      send(response, pageHtml(index, pages), 'text/html; charset=utf-8')
      // The bench may have heard of the last request already, and be gone.
      if (order.length === visits.length && process.connected) process.send({ kind: 'last' })
    }
    const [least, most] = answerMs
    if (most === 0) reply()
    else setTimeout(reply, least + ((index * 7_919 + host * 104_729) % (most - least + 1)))
  }
}

function late(slowMs) {
  return (request, response) => {
    if (request.url === '/robots.txt') return send(response, ROBOTS, 'text/plain')
    const index = indexOf(request.url, pages)
    if (index < 0) return unknown(request, response)
    setTimeout(() => {
      if (response.destroyed) return
      bad.slow++
      send(response, pageHtml(index, pages), 'text/html; charset=utf-8')
    }, slowMs)
  }
}

function unknown(request, response) {
  if (strangers.length < 10) strangers.push(request.url)
  response.writeHead(404, { 'content-length': 0 })
  response.end()
}

function send(response, text, type) {
  const body = Buffer.from(text)
  response.writeHead(200, { 'content-type': type, 'content-length': body.length })
  response.end(body)
}

function report() {
  const count = (wanted) => visits.reduce((sum, times) => sum + (wanted(times) ? 1 : 0), 0)
  const seconds = (order.at(-1)?.[1] ?? 0) / 1_000
  return { missing: count((times) => times === 0), twice: count((times) => times > 1), strangers, order, bad, seconds }
}
