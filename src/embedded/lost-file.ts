import { dirname, extname } from 'node:path'
import { asShoalError, ShoalError } from '../errors.js'
import { makeDirs } from '../make-dirs.js'
import type { SqliteDb } from '../sqlite/db.js'
import type { FileChange } from '../sqlite/watched-file.js'

interface LostFile {
  readonly path: string
  readonly change: FileChange
}

/**
 * The open connection still reaches what is no longer at its path: everything is copied to a file next to it before the process ends. Each process of a run
 * saves its own copy, because others may still commit for a moment.
 */
export function rescue(db: SqliteDb, { path, change }: LostFile, pid: number): ShoalError {
  const happened = `${path} was ${change} while it was in use`
  const extension = extname(db.path)
  const copy = `${db.path.slice(0, db.path.length - extension.length)}-rescued-${pid}${extension}`
  try {
    const content = contentOf(db)
    makeDirs(dirname(copy))
    db.prepare('VACUUM INTO ?').run(copy)
    return new ShoalError('db_lost', `${happened}; its content (${content}) is saved in ${copy}`, {
      hint: `Stop all processes that use it, move ${copy} to ${db.path} and run again.`,
    })
  } catch (error) {
    return new ShoalError(
      'db_lost',
      `${happened}, and its content could not be saved: ${asShoalError(error).message}`,
      { cause: error },
    )
  }
}

function contentOf(db: SqliteDb): string {
  const count = (sql: string) => Number(db.prepare(sql).get()?.[0])
  const [pages, records] = [count('SELECT sum(done) FROM crawls'), count('SELECT count(*) FROM records')]
  return `${pages} ${pages === 1 ? 'page' : 'pages'} done, ${records} ${records === 1 ? 'record' : 'records'}`
}
