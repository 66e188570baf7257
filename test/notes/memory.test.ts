import { memoryNotes } from '../../src/notes/memory/memory-notes.js'
import { notesContract } from '../contract/notes-contract.js'
import { notesProperties } from './properties.js'

notesContract('memory', async (clock) => ({ notes: memoryNotes({ clock }), close: async () => {} }))
notesProperties('memory', async (clock) => ({ notes: memoryNotes({ clock }), close: async () => {} }), 20)
