import { connect, createServer } from 'node:net'

/** A port in front of a server on loopback that counts the bytes of both directions. `reader` makes a function that sees the bytes of one connection. */
export async function passThrough(port, reader = () => () => {}) {
  let bytes = 0
  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1')
    const read = reader()
    client.on('data', (part) => {
      bytes += part.length
      read(part)
      target.write(part)
    })
    target.on('data', (part) => {
      bytes += part.length
    })
    target.pipe(client)
    for (const [one, other] of [
      [client, target],
      [target, client],
    ]) {
      one.setNoDelay(true)
      one.on('error', () => {}).on('close', () => other.destroy())
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: server.address().port,
    /** So far, both directions. */
    bytes: () => bytes,
    close: () => server.close(),
  }
}
