import { createServer } from 'node:http'
import { ANSWER_MS, MOST_HOSTS, PROXY_DELAY_MS, perHost } from './plan.js'

/**
 * The hosts, each on its own address: the single host first, then the others. It keeps the log that the figures are checked against: every page, how many
 * requests each host had at once, and the gaps between the requests of each proxy.
 */
const HTML = Buffer.from('<!doctype html><title>page</title><h1>A page</h1>')
/** A gap may be this part of the delay: the network and the scheduler move requests a little. */
const SHORT_GAP = 0.9

let cell = null
let cpuBefore = process.cpuUsage()

const origins = await Promise.all(Array.from({ length: MOST_HOSTS + 1 }, (_, nth) => listen(nth)))
process.on('message', (message) => {
  if (message.kind === 'begin') {
    begin(message.cell)
    process.send({ kind: 'begun' })
  } else process.send({ kind: 'report', ...report() })
})
process.on('disconnect', () => process.exit(0))
process.send({ kind: 'ready', origins })

function listen(nth) {
  const server = createServer((request, response) => answer(nth, request, response))
  server.keepAliveTimeout = 60_000
  const address = `127.0.1.${nth + 1}`
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, address, () => resolve(`http://${address}:${server.address().port}`))
  })
}

function begin({ pages, kind, hosts, proxies }) {
  cell = {
    ...{ kind, proxied: proxies > 0, limit: perHost(hosts), visits: new Uint16Array(pages), firstAt: null },
    ...{ strangers: 0, overlaps: 0, shortGaps: 0 },
    open: new Uint16Array(MOST_HOSTS + 1),
    lastFrom: new Map(),
  }
  cpuBefore = process.cpuUsage()
}

function answer(host, request, response) {
  if (cell?.proxied) checkGap(request.socket.remoteAddress)
  if (request.url === '/robots.txt') return response.writeHead(404, { 'content-length': 0 }).end()
  const [, kind, nth] = request.url.split('/')
  if (cell === null || kind !== cell.kind || !(Number(nth) < cell.visits.length)) {
    if (cell !== null) cell.strangers++
    return response.writeHead(404, { 'content-length': 0 }).end()
  }
  const asked = cell
  asked.firstAt ??= Date.now()
  asked.visits[Number(nth)]++
  if (++asked.open[host] > asked.limit && !asked.proxied) asked.overlaps++
  const send = () => {
    // Before the first byte is sent: whoever has read the response may send the next request.
    asked.open[host]--
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': HTML.length }).end(HTML)
  }
  if (kind === 'cpu') send()
  else setTimeout(send, ANSWER_MS)
}

/** The proxies send from their own addresses. */
function checkGap(from) {
  const now = performance.now()
  const before = cell.lastFrom.get(from)
  if (before !== undefined && now - before < SHORT_GAP * PROXY_DELAY_MS) cell.shortGaps++
  cell.lastFrom.set(from, now)
}

function report() {
  const count = (wanted) => cell.visits.reduce((sum, times) => sum + (wanted(times) ? 1 : 0), 0)
  const { user, system } = process.cpuUsage(cpuBefore)
  const { firstAt, strangers, overlaps, shortGaps, lastFrom } = cell
  return {
    ...{ firstRequestAt: firstAt, strangers, overlaps, shortGaps, addresses: lastFrom.size },
    missing: count((times) => times === 0),
    twice: count((times) => times > 1),
    siteCpuS: (user + system) / 1e6,
  }
}
