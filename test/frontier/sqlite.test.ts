import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteFrontierEngine } from '../../src/frontier/sqlite/sqlite-engine.js'
import { SqliteFrontier } from '../../src/frontier/sqlite/sqlite-frontier.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { frontierContract } from '../contract/frontier-contract.js'
import type { MakeFrontier } from '../contract/frontier-fixtures.js'
import { frontierInvariants } from './invariants.js'
import { frontierProperties } from './properties.js'

const onFile: MakeFrontier = async (clock) => {
  const directory = mkdtempSync(join(tmpdir(), 'shoal-frontier-'))
  const db = new SqliteDb(join(directory, 'shoal.db'))
  SqliteFrontierEngine.migrate(db)
  const frontier = new SqliteFrontier(callDirectly(db, new SqliteFrontierEngine(db, clock)), async () => {
    db.close()
    rmSync(directory, { recursive: true })
  })
  return { frontier, close: () => frontier.close() }
}

frontierContract('sqlite', onFile)
frontierProperties('sqlite', onFile, { runs: 100 })
frontierInvariants('sqlite', onFile, { runs: 20 })
