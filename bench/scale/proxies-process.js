import { createServer, request as send } from 'node:http'

/** Forward proxies on their own addresses, from which they also send: the site sees whose request it is. The message says how many. */
process.on('message', async ({ count }) => {
  process.send({ urls: await Promise.all(Array.from({ length: count }, (_, nth) => listen(`127.0.2.${nth + 1}`))) })
})
process.on('disconnect', () => process.exit(0))

function listen(address) {
  const server = createServer((incoming, answer) => {
    const { url, method, headers } = incoming
    const onward = send(url, { method, headers, localAddress: address }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers)
      reply.pipe(answer)
    })
    onward.on('error', () => {
      if (answer.headersSent) answer.destroy()
      else answer.writeHead(502).end()
    })
    incoming.pipe(onward)
  })
  server.keepAliveTimeout = 60_000
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, address, () => resolve(`http://${address}:${server.address().port}`))
  })
}
