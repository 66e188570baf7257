import { memoryLedger } from '../../src/proxy/memory/memory-ledger.js'
import { exitLedgerContract, type MakeLedger } from '../contract/proxy-ledger-contract.js'
import { exitLedgerProperties } from './ledger-properties.js'

const inMemory: MakeLedger = async (clock) => ({ ledger: memoryLedger({ clock }), close: async () => {} })

exitLedgerContract('memory', inMemory)
exitLedgerProperties('memory', inMemory, 200)
