import { ShoalError } from '../../errors.js'
import { type Cursor, FROM_START, readCursor } from '../changes.js'
import type { RecordStore, StoredRecord } from '../record-store.js'
import type { RecordSource } from './export.js'

/** Changes read at a time. */
const PAGE = 500
/** An export that dies keeps others of its name waiting for so long. */
const HELD_MS = 60_000

type ChangeStore = Pick<RecordStore, 'changes' | 'outlets'>

export interface IncrementalExport {
  /** Each name has its own position in the change stream. */
  readonly name: string
  readonly spider?: string
  readonly kind?: string
  /** Unlike that of any other process, now or before. */
  readonly holder: string
}

/**
 * Lets `write` export what changed since the last export of that name, or everything the first time. The position moves only when `write` has
 * succeeded: an export that fails, or dies before it could store the position, is repeated by the next one.
 */
export async function exportChanges<Result>(
  store: ChangeStore,
  asked: IncrementalExport,
  write: (source: RecordSource) => Promise<Result>,
): Promise<Result> {
  const name = `export/${asked.name}`
  const { holder, spider, kind } = asked
  await refuseOtherRecords(store, name, asked)
  const claim = { name, spider: spider ?? '', kinds: kind === undefined ? null : [kind], holder, forMs: HELD_MS }
  const hold = await store.outlets.claim(claim)
  if (hold === null) {
    throw new ShoalError('usage', `another export called ${asked.name} is running`, {
      hint: 'Wait for it, or for a minute if it was killed; exports at the same time need names of their own.',
    })
  }
  try {
    const end = await store.changes.end()
    const reached = { cursor: hold.cursor, records: 0 }
    const query = { ...(spider !== undefined && { spider }), ...(kind !== undefined && { kinds: [kind] }) }
    const result = await write({
      scan: () =>
        changesBetween(store, query, hold.cursor, end, reached, () =>
          store.outlets.claim({ ...claim, epoch: hold.epoch }),
        ),
    })
    const note = { cursor: reached.cursor, sent: reached.records, trimmed: 0, error: null, stop: false }
    await store.outlets.note(name, holder, note)
    return result
  } finally {
    await store.outlets.release(name, holder)
  }
}

/** One name always exports the same records: a narrower export would skip what a wider one has already passed. */
async function refuseOtherRecords(store: ChangeStore, name: string, asked: IncrementalExport): Promise<void> {
  const known = (await store.outlets.list()).find((outlet) => outlet.name === name)
  if (known === undefined || known.cursor === FROM_START) return
  if (known.spider === (asked.spider ?? '') && (known.kinds?.[0] ?? undefined) === asked.kind) return
  throw new ShoalError('usage', `the export ${asked.name} was started with another --spider or --kind`, {
    hint: 'Give it the same ones, or another name.',
  })
}

async function* changesBetween(
  store: ChangeStore,
  query: { readonly spider?: string; readonly kinds?: readonly string[] },
  from: Cursor,
  end: Cursor,
  reached: { cursor: Cursor; records: number },
  renew: () => Promise<unknown>,
): AsyncGenerator<StoredRecord> {
  let after = from
  let found = 0
  for (let pages = 1; isBefore(after, end); pages++) {
    const { records, cursor } = await store.changes.read({ ...query, after, limit: PAGE })
    yield* records
    found += records.length
    if (cursor === after) break
    after = cursor
    if (pages % 20 === 0) await renew()
  }
  reached.cursor = after
  reached.records = found
}

function isBefore(cursor: Cursor, end: Cursor): boolean {
  const [at, last] = [readCursor(cursor), readCursor(end)]
  return last !== null && (at === null || BigInt(at.position) < BigInt(last.position))
}
