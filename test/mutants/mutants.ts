/**
 * Bugs of one line, each of the kind that has cost others their data. The tests must notice every one of them: a mutant that survives is a
 * promise that nobody keeps watch over.
 */
export interface Mutant {
  readonly name: string
  readonly file: string
  /** Must stand in the file exactly once. */
  readonly find: string
  readonly replace: string
  /** The shortest tests that must fail: files, and the names of tests where a part is enough. */
  readonly tests: readonly string[]
  readonly only?: string
}

const LUA = 'src/frontier/redis/lua'
const POSTGRES = 'src/store/postgres'
const TIME_SUITE = ['test/frontier/redis/time.test.ts']
const REDIS_SUITE = ['test/frontier/redis/frontier.test.ts']

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'settle takes a lease that ran out',
    file: `${LUA}/settle.lua`,
    find: 'and not over[epoch] and tonumber(deadlines[n]) > now',
    replace: 'and not over[epoch]',
    tests: REDIS_SUITE,
    only: 'refuses a lease that ran out',
  },
  {
    name: 'a stale settle is told that it counted',
    file: `${LUA}/settle.lua`,
    find: 'answers[n] = again and 1 or 0',
    replace: 'answers[n] = 1',
    tests: REDIS_SUITE,
    only: 'fences a worker that lost its lease',
  },
  {
    name: 'a settle that is repeated is refused',
    file: `${LUA}/settle.lua`,
    find: "(not record and call('SISMEMBER', bucket, epoch) == 1)",
    replace: 'false',
    tests: REDIS_SUITE,
    only: 'changes nothing when repeated',
  },
  {
    name: 'a retry without its backoff',
    file: `${LUA}/settle.lua`,
    find: "requeue(c, lane, history_of(l), l.item, l.rank, a)\n    elseif kind == 'back' then",
    replace: "requeue(c, lane, history_of(l), l.item, l.rank, 0)\n    elseif kind == 'back' then",
    tests: REDIS_SUITE,
    only: 'retries later, lower',
  },
  {
    name: 'extend revives a lease that ran out',
    file: `${LUA}/extend.lua`,
    find: 'deadlines[n] and tonumber(deadlines[n]) > now and',
    replace: 'deadlines[n] and',
    tests: REDIS_SUITE,
    only: 'refuses a lease that ran out',
  },
  {
    name: "extend renews another worker's lease",
    file: `${LUA}/extend.lua`,
    find: 'mine[n] == 1 and records[n]',
    replace: 'records[n]',
    tests: REDIS_SUITE,
    only: 'extends what is held',
  },
  {
    name: 'the keeper renews a part of what is held',
    file: `${LUA}/keep.lua`,
    find: 'min(#held, limit)',
    replace: 'min(#held, 1)',
    tests: TIME_SUITE,
    only: 'renews everything that its worker holds',
  },
  {
    name: 'the keeper revives leases that ran out',
    file: `${LUA}/keep.lua`,
    find: 'and deadlines[n] and tonumber(deadlines[n]) > now and not disowned[epoch] then',
    replace: 'and deadlines[n] and not disowned[epoch] then',
    tests: TIME_SUITE,
    only: 'revives nothing that ran out',
  },
  {
    name: 'the reaper takes leases that have not run out',
    file: `${LUA}/reap.lua`,
    find: "call('ZRANGEBYSCORE', B .. ':deadlines', '-inf', now, 'LIMIT', 0, limit)",
    replace: "call('ZRANGEBYSCORE', B .. ':deadlines', '-inf', '+inf', 'LIMIT', 0, limit)",
    tests: REDIS_SUITE,
    only: 'reaps what ran out',
  },
  {
    name: 'a dead worker keeps the slots of its hosts',
    file: `${LUA}/prelude.lua`,
    find: '    slot_freed(h)\n    h.reopened = true\n    if lane.route',
    replace: '    h.reopened = true\n    if lane.route',
    tests: REDIS_SUITE,
    only: 'frees the slots of leases that ran out',
  },
  {
    name: 'a permit for a lease that ran out',
    file: `${LUA}/permit.lua`,
    find: 'if not record or tonumber(deadline) <= now then',
    replace: 'if not record then',
    tests: REDIS_SUITE,
    only: 'refuses a lease that ran out',
  },
  {
    name: 'a lease whose reply was lost is handed out a second time',
    file: `${LUA}/lease.lua`,
    find: 'if same and tonumber(w[1]) >= seqnumber then',
    replace: 'if false then',
    tests: REDIS_SUITE,
    only: 'answers a repeated call with the same batch',
  },
  {
    name: "lease looks at slots and not at the host's delay",
    file: `${LUA}/lease.lua`,
    find: 'if full or at > now then',
    replace: 'if full then',
    tests: REDIS_SUITE,
    only: 'keeps the delay between starts',
  },
  {
    name: 'two leases with one epoch',
    file: `${LUA}/lease.lua`,
    find: 'epoch = max(epoch + 1, micros)',
    replace: 'epoch = micros',
    tests: REDIS_SUITE,
    only: 'numbers leases with epochs that grow',
  },
  {
    name: 'a dead letter stays leased',
    file: `${LUA}/prelude.lua`,
    find: 'c.leased, c.ended = c.leased - 1, c.ended + 1',
    replace: 'c.leased = c.leased - 1',
    tests: REDIS_SUITE,
    only: 'ends a link and adds what it found',
  },
  {
    name: 'links are pushed without being remembered as seen',
    file: `${LUA}/links.lua`,
    find: "new = call('SADD', store.prefix .. bucket, fp) == 1",
    replace: "new = call('SISMEMBER', store.prefix .. bucket, fp) == 0",
    tests: REDIS_SUITE,
    only: 'knows every link once',
  },
  {
    name: 'finished while links are in hand',
    file: `${LUA}/prelude.lua`,
    find: "return c.state == 'running' and c.leased == 0 and",
    replace: "return c.state == 'running' and",
    tests: REDIS_SUITE,
    only: 'finishes exactly when nothing is left',
  },
  {
    name: 'a link that kills its workers goes round for ever',
    file: `${LUA}/prelude.lua`,
    find: 'if l.reclaims >= SOLO_AFTER + c.maxreclaims then',
    replace: 'if false then',
    tests: REDIS_SUITE,
    only: 'leases them alone after two deaths',
  },
  {
    name: 'a jump of the clock ends every lease',
    file: `${LUA}/prelude.lua`,
    find: 'now = last + (step > longest and 1 or max(0, step))',
    replace: 'now = last + max(0, step)',
    tests: TIME_SUITE,
    only: 'ends no lease',
  },
  {
    name: 'a full disk of Redis is a failure of the call',
    file: 'src/frontier/redis/redis-errors.ts',
    find: "  'MISCONF',\n",
    replace: '',
    tests: ['test/frontier/redis/redis-errors.test.ts'],
    only: 'is back-pressure: MISCONF',
  },
  {
    name: 'an upsert without its fence',
    file: 'src/store/judge.ts',
    find: "  if (order < 0) return 'fenced'\n",
    replace: '',
    tests: ['test/store/judge.test.ts'],
    only: 'an older epoch',
  },
  {
    name: 'an upsert in Postgres without its fence',
    file: `${POSTGRES}/write-statement.ts`,
    // Without the rest of its condition too: a page that was read earlier also counts as fresh.
    find: 'WHERE (excluded.gen, excluded.epoch) >= (r.gen, r.epoch)\n    AND (',
    replace: 'WHERE true OR (',
    tests: ['test/chaos/stale-writer.test.ts'],
    only: 'cannot overwrite the newer record',
  },
  {
    name: 'one statement touches a record of Postgres twice',
    file: `${POSTGRES}/write.ts`,
    find: 'const round = times.get(id) ?? 0',
    replace: 'const round = 0',
    tests: ['test/store/postgres/record-store.test.ts'],
    only: 'takes the same key twice in one batch',
  },
  {
    name: 'a record that Postgres refuses fails its neighbours',
    file: `${POSTGRES}/write.ts`,
    find: '} else if (isDataError(error) && write === writeWhole) write = writeWithoutPoison\n',
    replace: '}\n',
    tests: ['test/store/postgres/write.test.ts'],
    only: 'loses the guilty rows alone',
  },
  {
    name: 'writers take the records of Postgres in any order',
    file: `${POSTGRES}/write.ts`,
    find: 'inParts(round.sort(byKey))',
    replace: 'inParts(round)',
    tests: ['test/store/postgres/collisions.test.ts'],
    only: 'in opposite orders',
  },
  {
    name: 'a deadlock in Postgres fails the call',
    file: `${POSTGRES}/pg.ts`,
    find: 'if (isCollision(error) && ++collisions < MOST_COLLISIONS) continue',
    replace: '',
    tests: ['test/store/postgres/collisions.test.ts'],
    only: 'is tried again',
  },
  {
    name: 'the change feed of Postgres runs ahead of transactions under way',
    file: `${POSTGRES}/migrations/0001-results.sql`,
    find: 'SELECT pg_snapshot_xmin(pg_current_snapshot())',
    replace: 'SELECT pg_snapshot_xmax(pg_current_snapshot())',
    tests: ['test/store/postgres/changes.test.ts'],
    only: 'skips no transaction that commits late',
  },
  {
    name: 'settled before the records are committed',
    file: 'src/worker/visit.ts',
    find: 'const statuses = await outbox.write(batch)',
    replace: 'const statuses: string[] = []; void outbox.write(batch)',
    tests: ['test/worker/worker.test.ts'],
    only: 'settles nothing before its records',
  },
  {
    name: 'a queue that is away is not waited for',
    file: 'src/worker/outbox.ts',
    find: 'if (!isAway(error) || this.#givenUp) throw error',
    replace: 'throw error',
    tests: ['test/worker/older-queue.test.ts'],
    only: 'tells a queue that may have gone back',
  },
  {
    name: 'a permit that grew old is used',
    file: 'src/worker/fetch-page.ts',
    find: 'if (![...permits.values()].every(isFresh)) throw new PermitStale()',
    replace: '',
    tests: ['test/worker/permits.test.ts'],
    only: 'sends nothing with a permit that grew old',
  },
  {
    name: 'each worker paces its hosts by itself',
    file: 'src/worker/fetch-page.ts',
    find: 'return frontier.permit(lease, host)',
    replace:
      'return Promise.resolve({ ok: true as const, permitMs: 2_000 } as Awaited<ReturnType<typeof frontier.permit>>)',
    tests: ['test/worker/permits.test.ts'],
    only: 'asks the queue, and nobody else',
  },
]
