import { afterAll, beforeAll, expect, it } from 'vitest'
import { parsePostgres } from '../../../src/store/postgres/address.js'
import { openPg } from '../../../src/store/postgres/pg.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js'

/** A network that swallows everything: no reply, no error, no end. */
const DEADLINE_MS = 2_000
let server: PostgresServer
let proxy: TcpProxy
beforeAll(async () => {
  server = await startPostgres()
  proxy = await startTcpProxy(server.port)
})
afterAll(async () => {
  await proxy.stop()
  await server.end()
})

it('ends a transaction after one deadline, not after another one for its rollback', async () => {
  const address = parsePostgres(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
  const pg = await openPg(address, DEADLINE_MS)
  proxy.hold()
  const began = performance.now()
  const write = pg.transaction((tx) => tx.query({ name: 'one', text: 'SELECT 1' }, []))
  await expect(write).rejects.toMatchObject({ code: 'store_down' })
  expect(performance.now() - began).toBeLessThan(2 * DEADLINE_MS)
  await pg.close()
  proxy.reset()
  proxy.release()

  // The next call is made on another connection.
  const again = await openPg(address, DEADLINE_MS)
  expect(await again.query({ name: 'one', text: 'SELECT 1' }, [])).toEqual([[1]])
  await again.close()
})
