import type { Generations } from '../record-store.js'
import type { Pg } from './pg.js'

const LOCK = { name: 'generation-lock', text: `SELECT pg_advisory_xact_lock(hashtext('shoal.generations'))` }
const FIND = { name: 'find-generation', text: 'SELECT gen::float8 FROM shoal.generations WHERE queue_id = $1' }
const ADD = {
  name: 'add-generation',
  text: `INSERT INTO shoal.generations (queue_id, gen) SELECT $1, coalesce(max(gen), 0) + 1 FROM shoal.generations
    ON CONFLICT (queue_id) DO NOTHING`,
}

export class PostgresGenerations implements Generations {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async of(queueIdentity: string): Promise<number> {
    const [[known] = [null]] = await this.#pg.query<[number | null]>(FIND, [queueIdentity])
    if (known !== null) return known
    return this.#pg.transaction(async (tx) => {
      await tx.query(LOCK, [])
      await tx.query(ADD, [queueIdentity])
      const [[gen] = [0]] = await tx.query<[number]>(FIND, [queueIdentity])
      return gen
    })
  }

  async highestMark(queueIdentity: string): Promise<number> {
    const text = 'SELECT mark::float8 FROM shoal.generations WHERE queue_id = $1'
    const [[mark] = [0]] = await this.#pg.query<[number]>({ name: 'highest-mark', text }, [queueIdentity])
    return mark
  }

  async noteMark(queueIdentity: string, mark: number): Promise<void> {
    await this.of(queueIdentity)
    const text = 'UPDATE shoal.generations SET mark = $2 WHERE queue_id = $1 AND mark < $2'
    await this.#pg.query({ name: 'note-mark', text }, [queueIdentity, mark])
  }

  async renew(queueIdentity: string, mark: number): Promise<void> {
    await this.of(queueIdentity)
    await this.#pg.transaction(async (tx) => {
      await tx.query(LOCK, [])
      const text = `UPDATE shoal.generations SET mark = 0, gen = (SELECT max(gen) FROM shoal.generations) + 1 WHERE queue_id = $1 AND mark = $2`
      await tx.query({ name: 'renew-generation', text }, [queueIdentity, mark])
    })
  }
}
