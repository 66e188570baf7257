import pg from 'pg'
import type { PostgresAddress } from './address.js'
import { isCollision, isConnectionError, isUnprepared, openError, runError } from './pg-errors.js'

export interface SqlStatement {
  /** The server keeps the plan under this name. */
  readonly name: string
  readonly text: string
}

/**
 * A few connections to one server. Nothing may depend on the state of a connection (SET, LISTEN, temporary tables, session locks): PgBouncer
 * in transaction mode gives each transaction another one.
 */
export interface Pg {
  /** Where the tables are. */
  readonly schema: string
  /** Rows as arrays. Statements name the schema `shoal`; the one of the address is put in its place. */
  query<Row extends readonly unknown[]>(statement: SqlStatement, values: readonly unknown[]): Promise<Row[]>
  /** Several statements without values, not prepared. */
  script(text: string): Promise<void>
  /** Repeated as a whole after a deadlock, so that `work` must have no effect elsewhere. */
  transaction<Result>(work: (tx: Pg) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** One batch is written while the next is on its way; more would only wait in the server. A process has twice as many: its worker thread and itself. */
const CONNECTIONS = 2
const DIAL_DEADLINE_MS = 10_000
/** Longer than any batch takes; a call that outlives it is repeated on another connection. */
const CALL_DEADLINE_MS = 60_000
const IDLE_MS = 30_000
/** Deadlocks follow each other only while writers collide: sorted batches make one rare and two in a row rarer. */
const MOST_COLLISIONS = 10

/** Connects once, so that a wrong address fails at once. */
export async function openPg({ config, schema }: PostgresAddress, callDeadlineMs = CALL_DEADLINE_MS): Promise<Pg> {
  let pool: pg.Pool
  try {
    pool = new pg.Pool({
      ...config,
      max: CONNECTIONS,
      connectionTimeoutMillis: DIAL_DEADLINE_MS,
      query_timeout: callDeadlineMs,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      allowExitOnIdle: true,
      fallback_application_name: 'shoal',
    })
  } catch (error) {
    throw openError(error)
  }
  // An idle connection that breaks is replaced at the next call, which reports an error if there is one.
  pool.on('error', () => {})
  const statements = new Statements(schema)
  try {
    await pool.query('SELECT 1')
  } catch (error) {
    await pool.end()
    throw openError(error)
  }
  let closed: Promise<void> | null = null

  const inTransaction = async <Result>(work: (tx: Pg) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect()
    // An error between two calls reaches the next one.
    const ignore = () => {}
    client.on('error', ignore)
    let broken: Error | boolean = false
    try {
      await client.query('BEGIN')
      const result = await work(session(client, statements))
      await client.query('COMMIT')
      return result
    } catch (error) {
      // A connection without a reply would keep the rollback waiting for as long as the call before it. The server rolls back when it is closed.
      broken =
        isConnectionError(error) ||
        (await client.query('ROLLBACK').then(
          () => false,
          () => true,
        ))
      throw error
    } finally {
      client.off('error', ignore)
      client.release(broken)
    }
  }

  return {
    schema,
    async query<Row extends readonly unknown[]>(statement: SqlStatement, values: readonly unknown[]) {
      return repeated(statements, () => run<Row>(pool, statements, statement, values))
    },
    script: (text) => repeated(statements, () => runScript(pool, statements, text)),
    transaction: (work) => repeated(statements, () => inTransaction(work)),
    close() {
      closed ??= pool.end()
      return closed
    },
  }
}

/** The calls of one transaction. */
function session(client: pg.PoolClient, statements: Statements): Pg {
  const self: Pg = {
    schema: statements.schema,
    query: (statement, values) => run(client, statements, statement, values),
    script: (text) => runScript(client, statements, text),
    transaction: (work) => work(self),
    close: async () => {},
  }
  return self
}

async function run<Row extends readonly unknown[]>(
  on: pg.Pool | pg.PoolClient,
  statements: Statements,
  statement: SqlStatement,
  values: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await on.query<unknown[]>({
    ...statements.prepared(statement),
    values: values as unknown[],
    rowMode: 'array',
  })
  return rows as unknown as Row[]
}

async function runScript(on: pg.Pool | pg.PoolClient, statements: Statements, text: string): Promise<void> {
  await on.query(statements.prepared({ name: '', text }).text)
}

async function repeated<Result>(statements: Statements, call: () => Promise<Result>): Promise<Result> {
  for (let collisions = 0, named = true; ; ) {
    try {
      return await call()
    } catch (error) {
      if (isUnprepared(error) && named) {
        statements.forgetNames()
        named = false
        continue
      }
      if (isCollision(error) && ++collisions < MOST_COLLISIONS) continue
      throw runError(error)
    }
  }
}

/** The text of each statement for our schema, built once. */
class Statements {
  readonly schema: string
  readonly #texts = new Map<string, string>()
  #named = true

  constructor(schema: string) {
    this.schema = schema
  }

  prepared({ name, text }: SqlStatement): { name?: string; text: string } {
    let ours = this.#texts.get(text)
    if (ours === undefined) {
      ours = inSchema(text, this.schema)
      this.#texts.set(text, ours)
    }
    return this.#named ? { name, text: ours } : { text: ours }
  }

  /** An older PgBouncer knows no prepared statements: from now on every call carries its text. */
  forgetNames(): void {
    this.#named = false
  }
}

/** SQL for another schema than `shoal`. */
function inSchema(text: string, schema: string): string {
  return schema === 'shoal' ? text : text.replace(/\bshoal\./g, `${schema}.`)
}
