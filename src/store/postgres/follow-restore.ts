import type { Pg } from './pg.js'

/**
 * A dump that was restored into another cluster has changes of larger numbers than the transactions there will have for a long time: those that
 * come are counted from behind the largest. So are those that were written there before this: a worker keeps writing when its
 * database is replaced while it runs.
 */
export async function followRestore(pg: Pg): Promise<void> {
  const [known] = await pg.query<[boolean]>(IS_IN_PLACE, [])
  if (known?.[0] === true) return
  await pg.transaction(async (tx) => {
    await tx.query({ name: 'place-lock', text: `SELECT pg_advisory_xact_lock(hashtext('shoal place'))` }, [])
    const [found] = await tx.query<[boolean]>(IS_IN_PLACE, [])
    if (found?.[0] === true) return
    if (found !== undefined) {
      // Waits for current writers; later ones read the new offset.
      await tx.query({ name: 'count-on-lock', text: 'LOCK TABLE shoal.records IN SHARE ROW EXCLUSIVE MODE' }, [])
      await tx.query(COUNT_ON, [])
    }
    await tx.query(NOTE_PLACE, [])
  })
}

/**
 * A row that holds the number of the transaction that wrote it, and of its table: both survive an upgrade and a failover to a
 * standby, where numbers continue, and differ in a restored dump, whose rows are new. Every server shows it to every role.
 */
const TABLE = `'shoal.settings'::regclass::oid`
const IS_IN_PLACE = {
  name: 'is-in-place',
  text: `SELECT value = concat_ws('/', xmin, ${TABLE}) FROM shoal.settings WHERE name = 'place'`,
}
const NOTE_PLACE = {
  name: 'note-place',
  text: `INSERT INTO shoal.settings (name, value) VALUES ('place', concat_ws('/', pg_current_xact_id()::xid, ${TABLE}))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
}

/**
 * A row that was changed in this cluster has the number of a transaction after the restore (that of the settings), and was written by that
 * transaction or a later one; a row of the dump was written by the restore. Behind the largest number that anybody knows: places in the stream
 * may be far behind the last change. Tables of `shoal views` keep theirs in their comment.
 */
const COUNT_ON = {
  name: 'count-on',
  text: `WITH known AS MATERIALIZED (
      SELECT now, value::bigint AS past, age(xmin) AS restored,
        greatest(0, (SELECT max(change) FROM shoal.records), (SELECT max(position) FROM shoal.outlets),
          (SELECT max(changes_from) FROM shoal.crawl_notes),
          (SELECT max(substring(obj_description(oid, 'pg_class') FROM '"upTo":(\\d+)}$')::bigint) FROM pg_class
            WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'shoal.records'::regclass))) AS last
      FROM (SELECT pg_current_xact_id()::text::bigint AS now OFFSET 0) AS at, shoal.settings WHERE name = 'change_offset'
    ), counted AS (UPDATE shoal.settings SET value = last::text FROM known WHERE name = 'change_offset')
    UPDATE shoal.records AS r SET change = now + last FROM known
    WHERE change > past + now - restored AND change <= past + now AND age(r.xmin) <= past + now - change`,
}
