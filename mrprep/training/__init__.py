"""The trainer: a Llama on the shards of a build, data parallel. ``run.train`` is the way in.

    run         from a build to a trained model          settings    what decides a run
    rundir      the directory of a run                   launch      starts and watches the ranks
    lifeline    no orphans                               heartbeat   which rank hangs
    stopping    Ctrl-C and SIGTERM                       msrun       ranks that someone else started
    worker      what one rank runs                       parts       what it holds
    loop        the steps of one rank                    step        the compiled step
    spikes      what is far out                          guard       what becomes of it
    incident    which lines of text were in it           score       losses of single tokens
    validate    validation loss                          keeper      when to validate and to save
    checkpoint  published by rename                      resume      back to where a run stood
    model       Llama                                    config      its shapes
    changes     settings that are not the checkpoint's
    optimizer   AdamW                                    schedule    learning rate
    data        steps in order                           shards      what the manifest says
    mixture     builds by weight                         rows        read and checked
    documents   kept apart within a row                  intact      shards as they were built
    metrics     a line a step                            progress    the bar
    verdict     how it goes, in words                    scalars     for TensorBoard
    initial     weights to begin with                    tensors     read from safetensors
    weights     what a run left                          evaluate    its loss on a build
    inference   the decoder in NumPy                     generate    a text continued

MindSpore is imported at the top only of modules that ``worker`` imports inside a function.
"""
