import { buildApp } from 'fauxqs'

/** An S3 service in a separate process that counts its requests: {counts} returns the counts and resets them. */
let counts = {}
const app = buildApp({ logger: false })
app.addHook('onRequest', async (request) => {
  counts[request.method] = (counts[request.method] ?? 0) + 1
})
process.on('message', () => {
  process.send(counts)
  counts = {}
})
process.on('disconnect', () => process.exit(0))

await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = app.server.address()
await fetch(`http://127.0.0.1:${port}/bench`, { method: 'PUT' })
process.send({ port })
