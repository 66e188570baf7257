import type { Command } from 'commander'
import { EXIT, ShoalError } from '../../errors.js'
import type { PackCheck, PackMaintenance, PackProgress } from '../../store/pack-maintenance.js'
import { confirm } from '../confirm.js'
import { guide } from '../help.js'
import { acts, programName, type Session } from '../session.js'
import { bytes, count, plural } from '../terminal/format.js'
import { shownProgress } from '../views/work-progress.js'

/** Items printed of a list that may be long. */
const SHOWN = 10

export function checkCommand(pages: Command): void {
  const check = pages
    .command('check')
    .description('read every raw page: count packs, pages and bytes, and find damaged pages and unreferenced packs')
    .option(
      '--delete',
      'delete unreferenced packs, and forget damaged pages so that they are stored again when fetched',
      false,
    )
    .option('--yes', 'skip the confirmation', false)
    .action(
      acts(async (session, flags: { delete: boolean; yes: boolean }) =>
        withMaintenance(session, async (maintenance) => {
          const found = await withProgress(session, 'checking', (onProgress) => maintenance.check(onProgress))
          const idle = found.unreferenced.length + found.damaged.length === 0
          const question = `Delete ${plural(found.unreferenced.length, 'pack')} and forget ${plural(found.damaged.length, 'page')}?`
          if (!session.json) show(session, found)
          const deleted = flags.delete && !idle && (await confirm(question, flags.yes))
          if (deleted) await maintenance.clean(found)
          if (session.json) session.output.json(asJson(found, deleted))
          else if (deleted) session.output.note('deleted')
          else if (!idle && !flags.delete) {
            session.output.note(`to clean up: ${programName(process.env)} pages check --delete${session.sameDatabase}`)
          }
          return found.damaged.length > 0 && !deleted ? EXIT.backend.code : EXIT.ok.code
        }),
      ),
    )
  guide(check, {
    examples: [
      ['pages check', 'check all raw pages; exit code 4 if one is damaged'],
      ['pages check --delete --yes --json', 'clean up from a script'],
    ],
  })
}

export function compactCommand(pages: Command): void {
  const compact = pages
    .command('compact')
    .description('merge small packs into large ones; pages stay readable throughout')
    .action(
      acts(async (session) =>
        withMaintenance(session, async (maintenance) => {
          const done = await withProgress(session, 'reading', (onProgress) => maintenance.compact(onProgress))
          if (session.json) session.output.json(done)
          else if (done.pages === 0) session.output.print(`nothing to do: ${plural(done.packsAfter, 'pack')}`)
          else {
            session.output.print(
              `${plural(done.packsBefore, 'pack')} became ${count(done.packsAfter)}: ${plural(done.pages, 'page')} moved, ` +
                `${bytes(done.bytesBefore)} became ${bytes(done.bytesAfter)}`,
            )
          }
          return EXIT.ok.code
        }),
      ),
    )
  guide(compact, {
    examples: [['pages compact', 'run daily if many small crawls, or an S3 bucket, leave many small packs']],
  })
}

async function withMaintenance(
  session: Session,
  work: (maintenance: PackMaintenance) => Promise<number>,
): Promise<number> {
  return session.withResults(({ pages }) => {
    if (pages.maintenance === null)
      throw new ShoalError('not_found', 'raw pages in memory are lost when their process ends')
    return work(pages.maintenance)
  })
}

async function withProgress<Result>(
  session: Session,
  doing: string,
  work: (onProgress: (progress: PackProgress) => void) => Promise<Result>,
): Promise<Result> {
  const progress = shownProgress(session, 'packs', null)
  try {
    return await work(({ packs, of }) => progress.report(packs, doing, of))
  } finally {
    progress.stop()
  }
}

function show({ output }: Session, found: PackCheck): void {
  const { packs, pages, pageBytes, storedBytes, idleBytes, unreferenced, damaged } = found
  output.print(`${plural(pages, 'page')} in ${plural(packs, 'pack')}: ${bytes(pageBytes)} in ${bytes(storedBytes)}`)
  if (idleBytes > 0) output.print(`${bytes(idleBytes)} unreferenced`)
  if (unreferenced.length > 0) {
    output.print(`${plural(unreferenced.length, 'unreferenced pack')}`)
    for (const { where } of unreferenced.slice(0, SHOWN)) output.print(`  ${where}`)
  }
  output.print(damaged.length === 0 ? 'all pages are readable' : `${plural(damaged.length, 'page')} damaged`)
  for (const { hash, pack } of damaged.slice(0, SHOWN)) output.print(`  sha256:${hash} in ${pack}`)
}

function asJson({ unreferenced, damaged, ...totals }: PackCheck, deleted: boolean): Record<string, unknown> {
  return {
    ...totals,
    unreferenced: unreferenced.length,
    damaged: damaged.length,
    unreferencedPacks: unreferenced.map(({ where }) => where),
    damagedPages: damaged.map(({ hash }) => `sha256:${hash}`),
    deleted,
  }
}
