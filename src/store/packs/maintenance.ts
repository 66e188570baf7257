import type { Clock } from '../../clock.js'
import type { BlobIndex } from '../blob-index.js'
import type { PackMaintenance } from '../pack-maintenance.js'
import { checkPacks, cleanPacks } from './check.js'
import { compactPacks } from './compact.js'
import { dialled } from './dialled.js'
import type { PackPlace } from './pack-place.js'

export function packMaintenance(index: BlobIndex, place: PackPlace, clock: Clock): PackMaintenance {
  return {
    check: (onProgress) => dialled(() => checkPacks(index, place, clock.now(), onProgress)),
    clean: (found) => dialled(() => cleanPacks(index, place, found)),
    compact: (onProgress) => dialled(() => compactPacks(index, place, clock.now(), onProgress)),
  }
}
